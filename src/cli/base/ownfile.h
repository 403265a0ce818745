/* ownfile.h - files that a command makes where others may have prepared something
 *
 * Root calls commands in folders of users too.  A link that lies there under the name of the result
 * would lead root's pen to /etc. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Make or empty a file whose name the command chose.  A descriptor, or -EEXIST: what has the name
 * is no plain file, or has other names too; another negative errno. */
int ownfile_create(const char *path, mode_t mode);
/* A file that is to be the user's.  replace: one that is there will do, if it is a plain one with
 * this name alone, and his (of root's alone this is asked), else -EPERM.  Without: -EEXIST. */
int ownfile_for(const char *path, bool replace, uid_t uid);
