/* inherit.c - see inherit.h */
#include "base/process/inherit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define KEYCTL_JOIN_SESSION_KEYRING 1 /* linux/keyctl.h, which not every machine has */
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1u << 2) /* linux/close_range.h, of 5.11 */
#endif
#define NO_DESCRIPTOR (~0u)

/* As getdents64(2) writes it. */
struct entry {
    uint64_t ino;
    int64_t off;
    uint16_t len;
    uint8_t type;
    char name[];
};

static int number_of(const char *name)
{
    int n = 0;

    for (; *name >= '0' && *name <= '9' && n < INT32_MAX / 10 - 1; name++)
        n = n * 10 + (*name - '0');
    return *name ? -1 : n;
}

/* Kernels before 5.9 are asked which there are.  True: some were closed, there may be more. */
static bool close_listed(int dir, int first, int keep)
{
    _Alignas(struct entry) char buf[4096];
    bool any = false;
    long n;

    (void)lseek(dir, 0, SEEK_SET); /* a folder of the kernel's */
    while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(buf + at);
            int fd = number_of(e->name);

            at += e->len;
            if (fd < first || fd == dir || fd == keep)
                continue;
            (void)close(fd); /* it is gone whatever close(2) says */
            any = true;
        }
    return any;
}

static void close_range_of(unsigned from, unsigned to, int keep)
{
    int dir;

    if (from > to || syscall(SYS_close_range, from, to, 0) == 0)
        return;
    dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        _exit(127); /* what would be passed on is unknown */
    while (close_listed(dir, (int)from, keep))
        ;
    (void)close(dir);
}

void inherit_close(int first, int keep)
{
    if (keep < first) {
        close_range_of((unsigned)first, NO_DESCRIPTOR, -1);
        return;
    }
    if (keep > first)
        close_range_of((unsigned)first, (unsigned)keep - 1, keep);
    close_range_of((unsigned)keep + 1, NO_DESCRIPTOR, -1);
}

void inherit_close_at_exec(int first)
{
    const struct dirent *e;
    DIR *dir;

    if (syscall(SYS_close_range, (unsigned)first, NO_DESCRIPTOR, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    dir = opendir("/proc/self/fd"); /* kernels before 5.11 */
    if (!dir)
        _exit(127); /* what would be passed on is unknown */
    while ((e = readdir(dir))) {
        int fd = number_of(e->d_name); /* "." and "..": -1 */

        if (fd >= first)
            (void)fcntl(fd, F_SETFD, FD_CLOEXEC); /* closed by a thread meanwhile: gone as well */
    }
    (void)closedir(dir);
}

void inherit_open_standard(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", O_RDWR) != fd) /* without close-on-exec: it shall be passed on */
            _exit(127);
}

void inherit_begin(int first)
{
    sigset_t none;

    inherit_open_standard();
    inherit_close(first, -1);
    for (int sig = 1; sig < NSIG; sig++) {
        struct sigaction act;

        if (sigaction(sig, NULL, &act) == 0 &&
            act.sa_handler == SIG_IGN)  /* handlers do not outlive an exec */
            (void)signal(sig, SIG_DFL); /* not KILL, STOP and those of the C library */
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)umask(umask(S_IWGRP | S_IWOTH) | S_IWGRP | S_IWOTH);
}

void inherit_no_keys(void)
{
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
                  NULL); /* not in every container, nor every kernel */
}
