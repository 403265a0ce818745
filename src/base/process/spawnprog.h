/* spawnprog.h - how a daemon starts a program: with nothing of its own but what is said here
 *
 * The program leads a session of its own, signals are not blocked and as the kernel has them by
 * default, and it has no descriptor but those given.  Our memory is shared until its exec, so the
 * cost does not grow with ours. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct spawn {
    const char *path;  /* of the program; no search */
    char *const *argv; /* NULL: its path alone */
    char *const *envp; /* NULL: nothing */
    const char *dir;   /* it starts there; NULL: where we are */
    /* It gets them as 0, 1 ...; -1 and what is beyond n_fds: /dev/null for 0 to 2, else nothing.
     * One that is not its own number must be n_fds or above, and above 2. */
    const int *fds;
    size_t n_fds;
};

/* For envp: our environment without the variables that begin with this prefix, and n of the
 * caller's.  The caller frees the array alone.  NULL: no memory. */
char **spawn_env(const char *without, char *const *own, size_t n);
/* The caller waits for *ret_pid.  Errors: those of posix_spawn(3). */
int spawn_program(const struct spawn *s, pid_t *ret_pid);
