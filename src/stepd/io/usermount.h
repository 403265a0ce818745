/* usermount.h - does a path lead to a file system that a program of a user serves?
 *
 * The kernel waits for such a program (FUSE: sshfs, a mounted archive, ...) whenever a path leads
 * there, and nobody says that the program answers.  A user may mount one in a namespace of his own
 * too, and name it by /proc/PID/root. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* mountinfo: the text of /proc/PID/mountinfo, see proc(5); it is read line by line.  False only for
 * a mount that stands there with a type that the kernel or another host serves. */
bool usermount_serves(const char *mountinfo, uint64_t mount_id);

/* Does a program of a user serve what fd stands for?  True also when that cannot be found out. */
bool usermount_has(int fd);

/* close(2), which asks such a program too: then it is done by a child, for which nobody waits but
 * the end of the step.  Anything of the caller's was written before, or does not matter. */
void usermount_close(int fd);

/* An O_PATH descriptor of a folder that the caller may enter, found without waiting for anybody;
 * ask usermount_has() before anything else is done with it, and close it.  -EAGAIN: finding it
 * takes a wait, maybe one without an end.  Other negative errno: no folder that may be entered. */
int usermount_enter(const char *folder);

/* open(2) of what is in such a folder; O_CREAT with mode 0666.  -EAGAIN also for what leads out of
 * the folder: a link, another mount. */
int usermount_open(int folder, const char *name, int flags);
