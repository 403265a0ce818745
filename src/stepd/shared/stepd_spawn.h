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

/* A process of the user that takes a connection over.  The descriptors are duplicated. */
struct bcast_start {
    const char *exe;
    const char *kind; /* "bcast", "tail", or "relay" */
    const char *dir;  /* where it works */
    const Pst__BcastFile *file;
    int fd;    /* the connection that it answers on ... */
    int go_fd; /* ... once a byte has come here; it ends when this closes without one */
    int ns_fd; /* the mount namespace that it works in; -1 = slurmd's */
};
/* The child must be waited for.  Errors: negative errno. */
int bcast_spawn(const struct bcast_start *b, pid_t *ret_pid);
