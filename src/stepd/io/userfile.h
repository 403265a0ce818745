/* userfile.h - a file that a user has named
 *
 * A name in /proc/self leads to whoever opens it, and the kernel asks a process for no right to
 * itself: what is of this process is refused with -EACCES.  O_TRUNC acts once that is known.
 * Whoever calls has taken on the user's identity before. */
#pragma once

/* open(2) as it is, which may wait; a new file has mode 0666 less the umask.  A descriptor or a
 * negative errno. */
int userfile_open(const char *path, int flags);

/* The same in two parts: the flags to open with, and what was opened with them.  fd, which may be a
 * negative errno already, or a negative errno with fd closed. */
int userfile_flags(int flags);
int userfile_take(int fd, int flags);
