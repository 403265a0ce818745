/* usermount.h - are there file systems on this node that programs of users may serve?
 *
 * The kernel waits for such a program (FUSE: sshfs, a mounted archive, ...) whenever a path leads
 * there, and nobody says that the program answers. */
#pragma once

#include <stdbool.h>

/* mountinfo: the text of /proc/PID/mountinfo, see proc(5); it is read line by line. */
bool usermount_in(const char *mountinfo);
/* In our own mount namespace; true also when that cannot be found out. */
bool usermount_any(void);
