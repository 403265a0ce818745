/* restserve.h - requests over HTTP: from libmicrohttpd to a handler and back (private to rest/) */
#pragma once

#include "rest/rest_impl.h"

/* A daemon of the library's for a socket that listens (taken), or for connections that are given
 * to it (-1); NULL: no thread. */
struct MHD_Daemon *restserve_start(struct rest *rest, int listen_fd);
