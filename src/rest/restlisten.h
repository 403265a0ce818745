/* restlisten.h - sockets that listen at the addresses that slurmrestd is given */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Is what comes at this address ("https://...") encrypted? */
bool restlisten_is_tls(const char *address);
/* Listen on "[http://]HOST:PORT", "https://HOST:PORT", ":PORT" (any address), "[::1]:PORT" or
 * "unix:PATH".  PORT may be the name of a service.  A stale socket file is replaced; *ret_path is
 * the file made, NULL for TCP, and the caller frees it.  Returns the descriptor.  Errors: -EINVAL
 * no such address (err says what would be), -EADDRINUSE and others of bind(2). */
int restlisten(const char *address, char **ret_path, struct err *err);
