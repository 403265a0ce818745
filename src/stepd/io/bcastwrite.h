/* bcastwrite.h - the receiving end of sbcast: a process of its own, as the user */
#pragma once

#include <sys/types.h>

#include "stepfile.pb-c.h"

/* In slurmd: start exe for the transfer ("bcast"), or its twin for a relay ("relay"); it works
 * in dir, in the mount namespace ns_fd (-1 = slurmd's), and answers on fd, once a byte has come
 * on go_fd; all are duplicated.  It ends when that closes without one.  The child must be waited
 * for. */
int bcast_spawn(const char *exe, const char *kind, const char *dir, const Pst__BcastFile *file,
                int fd, int ns_fd, int go_fd, pid_t *ret_pid);
/* In that process: write one file after the other until the sender closes the connection.  Exit
 * status. */
int bcast_serve(const Pst__BcastFile *file, int fd);
