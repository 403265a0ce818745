/* stepd_spawn.h - starting a step daemon: slurmd's half of the contract in step.h */
#pragma once

#include <sys/types.h>

#include "stepfile.pb-c.h"

/* StepFile.memlock: what the daemon locks in memory, beside nothing. */
enum { STEP_MEMLOCK_NOW = 1, STEP_MEMLOCK_ALL }; /* what it has at its start; what it ever has */

/* Start exe for the step described by sf, in sf->step_dir, in a session of its own.  srun_fd, ns_fd
 * (the job's mount namespace) and ns_pid_fd (the first process of its other namespaces), each -1
 * when there is none, are duplicated for it.  *ret_ctl: the control connection (nonblocking,
 * close-on-exec), the caller's. The child must be waited for.  Errors: negative errno. */
int stepd_spawn(const char *exe, const Pst__StepFile *sf, int srun_fd, int ns_fd, int ns_pid_fd,
                pid_t *ret_pid, int *ret_ctl);

/* Start exe for a transfer of sbcast ("bcast"), or its twin for a relay ("relay"); it works
 * in dir, in the mount namespace ns_fd (-1 = slurmd's), and answers on fd, once a byte has come
 * on go_fd; all are duplicated.  It ends when that closes without one.  The child must be waited
 * for. */
int bcast_spawn(const char *exe, const char *kind, const char *dir, const Pst__BcastFile *file,
                int fd, int ns_fd, int go_fd, pid_t *ret_pid);
