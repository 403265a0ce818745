/* munged.h - a munged of the test's own: private key, socket and directory (for test_*.c) */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/auth/auth.h"

#define MUNGED_WAIT_MS 5000

struct munged {
    pid_t pid;
    char dir[64];
    char socket[96];
};

static const char *const munged_files[] = { "key-file", "socket", "pid-file", "seed-file",
                                            "log-file" };

static inline void munged_clean(struct munged *m)
{
    static const char *const more[] = { "socket.lock" };
    char path[128];

    for (size_t i = 0; i < ARRAY_SIZE(munged_files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", m->dir, munged_files[i]);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof(path), "%s/%s", m->dir, more[0]);
    (void)unlink(path);
    (void)rmdir(m->dir);
}

static inline void munged_exec(const struct munged *m)
{
    char options[ARRAY_SIZE(munged_files)][128];
    char *argv[ARRAY_SIZE(munged_files) + 5] = { (char *)"munged", (char *)"--foreground",
                                                 (char *)"--force", (char *)"--num-threads=1" };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (size_t i = 0; i < ARRAY_SIZE(munged_files); i++) {
        (void)snprintf(options[i], sizeof(options[i]), "--%s=%s/%s", munged_files[i], m->dir,
                       munged_files[i]);
        argv[4 + i] = options[i];
    }
    (void)dup2(null, 1);
    (void)dup2(null, 2);
    (void)execvp("munged", argv);
    (void)execv("/usr/sbin/munged", argv);
    _exit(127);
}

static inline bool munged_make_key(const struct munged *m)
{
    uint8_t key[64];
    char path[128];
    bool ok;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/key-file", m->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ok = auth_random(key, sizeof(key)) == 0 && write(fd, key, sizeof(key)) == sizeof(key);
    return close(fd) == 0 && ok;
}

/* True when it answers; false (and nothing left behind) when it cannot run here. */
static inline bool munged_start(struct munged *m)
{
    bool ended = false;

    (void)snprintf(m->dir, sizeof(m->dir), "/tmp/test_munged.XXXXXX");
    if (!mkdtemp(m->dir))
        return false;
    (void)chmod(m->dir, 0755); /* munged wants its socket's directory open to all */
    (void)snprintf(m->socket, sizeof(m->socket), "%s/socket", m->dir);
    if (!munged_make_key(m)) {
        munged_clean(m);
        return false;
    }
    m->pid = fork();
    if (m->pid == 0)
        munged_exec(m);
    for (int waited_ms = 0; m->pid > 0 && !ended && waited_ms < MUNGED_WAIT_MS; waited_ms += 10) {
        char *cred = NULL;
        int r = auth_munge_encode(m->socket, 0, "x", 1, &cred, NULL);

        free(cred);
        if (r == 0)
            return true;
        ended = waitpid(m->pid, NULL, WNOHANG) == m->pid;
        if (r == -ENOSYS)
            break;
        (void)poll(NULL, 0, 10);
    }
    if (m->pid > 0 && !ended) {
        (void)kill(m->pid, SIGKILL);
        (void)waitpid(m->pid, NULL, 0);
    }
    munged_clean(m);
    return false;
}

static inline void munged_stop(struct munged *m)
{
    (void)kill(m->pid, SIGTERM);
    (void)waitpid(m->pid, NULL, 0);
    munged_clean(m);
}
