/* spawnprog.c - see spawnprog.h */
#include "base/process/spawnprog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

static int place_fds(posix_spawn_file_actions_t *fa, const struct spawn *s)
{
    size_t n = MAX(s->n_fds, (size_t)3);
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        int fd = i < s->n_fds ? s->fds[i] : -1;

        if (fd >= 0)
            r = posix_spawn_file_actions_adddup2(fa, fd, (int)i);
        else if (i < 3)
            r = posix_spawn_file_actions_addopen(fa, (int)i, "/dev/null", O_RDWR, 0);
        else
            r = posix_spawn_file_actions_addclose(fa, (int)i);
    }
    return r ? r : posix_spawn_file_actions_addclosefrom_np(fa, (int)n);
}

static int start_program(const struct spawn *s, const posix_spawn_file_actions_t *fa,
                         pid_t *ret_pid)
{
    char *alone[] = { (char *)s->path, NULL }, *nothing[] = { NULL };
    posix_spawnattr_t attr;
    sigset_t all, none;
    int r = posix_spawnattr_init(&attr);

    if (r)
        return r;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigdefault(&attr, &all);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    r = posix_spawn(ret_pid, s->path, fa, &attr, s->argv ? s->argv : alone,
                    s->envp ? s->envp : nothing);
    (void)posix_spawnattr_destroy(&attr);
    return r;
}

char **spawn_env(const char *without, char *const *own, size_t n)
{
    size_t len = strlen(without), ours = 0, at = 0;
    char **envp;

    for (char **e = environ; *e; e++)
        ours++;
    envp = calloc(ours + n + 1, sizeof(*envp));
    if (!envp)
        return NULL;
    for (char **e = environ; *e; e++)
        if (strncmp(*e, without, len) != 0)
            envp[at++] = *e;
    for (size_t i = 0; i < n; i++)
        envp[at++] = own[i];
    return envp;
}

int spawn_program(const struct spawn *s, pid_t *ret_pid)
{
    posix_spawn_file_actions_t fa;
    int r;

    if (posix_spawn_file_actions_init(&fa) != 0)
        return -ENOMEM;
    r = s->dir ? posix_spawn_file_actions_addchdir_np(&fa, s->dir) : 0;
    if (r == 0)
        r = place_fds(&fa, s);
    if (r == 0)
        r = start_program(s, &fa, ret_pid);
    (void)posix_spawn_file_actions_destroy(&fa);
    return -r;
}
