/* xsetup.h - the first bytes of an X program's connection, which show its cookie
 *
 * Pure.  "Connection Setup" of the X Window System Protocol, X Version 11: order of bytes ('B' high
 * first, 'l' low first), a pad, two numbers of the version, lengths of the name and of the cookie,
 * two bytes of pad; then the name and the cookie, each padded to four bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "wire/x11/xauthority.h"

/* Does the program show the cookie `shown`?  Then add to sb what it sent, with `real` in its place.
 * Returns how many bytes of data that was; 0: more are needed; -EACCES: another cookie, or none;
 * -EBADMSG: no X program speaks so; -ENOMEM.  Takes the same time for every wrong cookie. */
long xsetup_swap(const void *data, size_t len, const struct xauth_cookie *shown,
                 const struct xauth_cookie *real, struct strbuf *sb);
