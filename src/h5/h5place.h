/* h5place.h - the folders of ProfileHDF5Dir, and how a step's file gets there
 *
 * Everything is opened below a descriptor of the folder before, and no symbolic link is followed.
 * slurmd's user makes the folder and those of the users; what is in a user's folder is written by
 * a process of the user's own. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "h5/h5head.h"

/* Open ProfileHDF5Dir; it is made when only itself is missing.  -EPERM: it belongs to somebody
 * else than root and us, or others may write to it. */
int h5place_root(const char *dir, int *ret_fd, struct err *err);
/* Open the user's folder, which is made with mode 0700 and given to the user when it is missing.
 * -EPERM: it is another's. */
int h5place_user(int root_fd, const struct h5head *head, int *ret_fd, struct err *err);
/* Be the user from now on, for good; a process that is not root's stays what it is. */
int h5place_become(const struct h5head *head, struct err *err);
/* Put a whole file of mode 0600 there.  One of this name that is there already becomes name.1, or
 * the next number that is free. */
int h5place_put(int user_fd, const char *name, const void *data, size_t len, struct err *err);
