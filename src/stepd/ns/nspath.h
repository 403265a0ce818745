/* nspath.h - the folder that a path leads to, with no link of a user's in it
 *
 * A job may get its own folder at a place where its user can make links (a folder in his home).  He
 * could lead the mount anywhere, to /etc, which setuid programs of the job believe. */
#pragma once

/* Open the folder (O_PATH).  Root's links are followed, as administrators make them; -EPERM: a
 * link is of somebody else.  -ENOTDIR, -ENOENT ... */
int nspath_open(const char *path, int *ret_fd);
