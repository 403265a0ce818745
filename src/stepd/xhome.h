/* xhome.h - the cookie of a job's display in the .Xauthority of the user's home
 *
 * Called in a process that is the user already: a home may be far away, and make its reader
 * wait. */
#pragma once

#include "wire/x11/xauthority.h"

/* Put the entry for `display` of this host into dir/.Xauthority in place of an older one; cookie
 * NULL: take it out.  Locked as other X programs lock it, for which this waits some seconds at
 * most. -EAGAIN: somebody else kept the lock; -EFBIG; errors of open(2), write(2), rename(2). */
int xhome_edit(const char *dir, const char *host, unsigned display,
               const struct xauth_cookie *cookie);
