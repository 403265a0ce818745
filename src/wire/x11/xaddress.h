/* xaddress.h - the address of an X server, as DISPLAY names it
 *
 * [host]:display[.screen]; no host or "unix" is a socket of this machine, another host is TCP port
 * 6000 and the display. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define XADDRESS_PORT 6000u
#define XADDRESS_MAX 59535u /* highest display that has a port */

struct xaddress {
    char host[256]; /* "": a local socket */
    unsigned display;
};

/* -EINVAL with the sentence in err. */
int xaddress_parse(const char *text, struct xaddress *ret_a, struct err *err);

/* Where the server listens; a host is looked up, which may last.  max addresses at most, in the
 * order to try; at least one on success.  -EHOSTUNREACH with the sentence. */
struct xaddress_at {
    unsigned char sa[128]; /* a struct sockaddr_storage */
    size_t len;
};
int xaddress_look_up(const struct xaddress *a, struct xaddress_at *list, size_t max, size_t *ret_n,
                     struct err *err);
/* Begin to connect; *ret_fd is nonblocking, maybe not yet connected.  Errors of socket(2) and
 * connect(2). */
int xaddress_connect(const struct xaddress_at *at, int *ret_fd);
