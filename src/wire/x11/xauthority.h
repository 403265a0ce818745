/* xauthority.h - the file in which X programs find the cookies of displays
 *
 * Pure functions over the bytes of such a file: no I/O.  An entry is a family (16 bits), then
 * address, number of the display, name of the way to prove oneself, and cookie, each with a length
 * of 16 bits before it; all numbers have their high byte first (Xsecurity(7), libXau).  A file that
 * ends within an entry holds the entries before it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define XAUTH_FILE_MAX (1u << 20)
#define XAUTH_COOKIE_MAX 64u
#define XAUTH_COOKIE 16u /* bytes of a cookie of ours */
#define XAUTH_NAME "MIT-MAGIC-COOKIE-1"

enum xauth_family {
    XAUTH_INTERNET = 0,
    XAUTH_INTERNET6 = 6,
    XAUTH_LOCAL = 256,  /* a socket of this machine; the address is the host's name */
    XAUTH_WILD = 65535, /* any address */
};

struct xauth_cookie {
    uint8_t bytes[XAUTH_COOKIE_MAX];
    size_t len;
};

/* The cookie of a display.  local_name: the host's name where the display is on this machine, NULL
 * where it is not; then addr (addr_len 4 or 16 bytes) is where it is.  The first entry that fits
 * counts.  -ENOENT: there is none. */
struct xauth_want {
    const char *local_name;
    const uint8_t *addr;
    size_t addr_len;
    unsigned display;
};
int xauthority_find(const void *data, size_t len, const struct xauth_want *want,
                    struct xauth_cookie *ret_cookie);

/* Add an entry with a cookie.  address: text, "" for XAUTH_WILD. */
void xauthority_add(struct strbuf *sb, enum xauth_family family, const char *address,
                    unsigned display, const struct xauth_cookie *cookie);

/* Add the entries of data but those that xauthority_add() would have made for this address and
 * display with XAUTH_LOCAL. */
void xauthority_without(const void *data, size_t len, const char *address, unsigned display,
                        struct strbuf *sb);
