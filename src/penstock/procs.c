/* procs.c - the cluster's daemons as processes
 *
 * A pid file may be old and its number another program's by now.  So a process is touched only when
 * its program and its command line (or, for step daemons, the folder it works in) say that it is
 * ours, and only through a pidfd taken before that was checked. */
#include "penstock/penstock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timefmt.h"

extern char **environ;

/* Name of the program behind pid, without folder; "" when there is none. */
static void exe_name(pid_t pid, char *buf, size_t size)
{
    char link[64], path[4096];
    const char *slash;
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    (void)snprintf(buf, size, "%s", slash ? slash + 1 : path);
    if (strchr(buf, ' '))
        *strchr(buf, ' ') = '\0'; /* " (deleted)": rebuilt since */
}

static bool command_line_has(pid_t pid, const char *word)
{
    char path[64], text[8192];
    _cleanup_close_ int fd = -1;
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    for (const char *p = text; p < text + n; p += strlen(p) + 1)
        if (strcmp(p, word) == 0)
            return true;
    return false;
}

static bool works_below(pid_t pid, const char *folder)
{
    char link[64], path[4096];
    size_t len = strlen(folder);
    ssize_t n;

    (void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return strncmp(path, folder, len) == 0 && path[len] == '/';
}

static int add_process(struct procs *list, pid_t pid, int fd, const char *name)
{
    struct proc *items = reallocarray(list->items, list->n + 1, sizeof(*items));

    if (!items)
        return -ENOMEM;
    list->items = items;
    items[list->n] = (struct proc){ .pid = pid, .fd = fd };
    (void)snprintf(items[list->n].name, sizeof(items[0].name), "%s", name);
    list->n++;
    return 0;
}

static bool is_daemon(const char *exe)
{
    return strcmp(exe, "slurmctld") == 0 || strcmp(exe, "slurmd") == 0 ||
           strcmp(exe, "penstock-emulate") == 0;
}

/* Add pid when `step`: a step daemon of ours; else: a daemon of ours. */
static int consider_process(const struct instance *in, pid_t pid, bool step, const char *label,
                            struct procs *list)
{
    _cleanup_close_ int fd = pidfd_open(pid, 0);
    char exe[256], spool[INSTANCE_PATH_MAX + 16];
    int r;

    if (fd < 0)
        return 0; /* gone */
    exe_name(pid, exe, sizeof(exe));
    (void)snprintf(spool, sizeof(spool), "%s/spool", in->dir);
    if (step ? strcmp(exe, "slurmstepd") != 0 || !works_below(pid, spool)
             : (!is_daemon(exe)) || !command_line_has(pid, in->conf))
        return 0;
    r = add_process(list, pid, fd, label);
    if (r == 0)
        (void)TAKE_FD(fd);
    return r;
}

static pid_t read_pid(const char *path)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char text[32];
    int64_t pid;

    if (!f || !fgets(text, sizeof(text), f))
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return parse_i64(text, 2, INT_MAX, &pid) == 0 ? (pid_t)pid : 0;
}

int procs_find(const struct instance *in, struct procs *ret)
{
    char folder[INSTANCE_PATH_MAX + 16], path[INSTANCE_PATH_MAX + 512];
    struct procs list = { 0 };
    const struct dirent *entry;
    DIR *d;
    int r = 0;

    (void)snprintf(folder, sizeof(folder), "%s/run", in->dir);
    d = opendir(folder);
    if (!d && errno != ENOENT)
        return -errno;
    while (d && r == 0 && (entry = readdir(d))) {
        const char *dot = strrchr(entry->d_name, '.');
        char label[64];
        pid_t pid;

        if (!dot || strcmp(dot, ".pid") != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)snprintf(label, sizeof(label), "%.*s", (int)MIN(dot - entry->d_name, 63L),
                       entry->d_name);
        pid = read_pid(path);
        if (pid > 0)
            r = consider_process(in, pid, false, label, &list);
    }
    if (d)
        (void)closedir(d);
    if (r < 0) {
        procs_done(&list);
        return r;
    }
    *ret = list;
    return 0;
}

int procs_find_steps(const struct instance *in, struct procs *ret)
{
    struct procs list = { 0 };
    const struct dirent *entry;
    DIR *d = opendir("/proc");
    int r = 0;

    if (!d)
        return -errno;
    while (r == 0 && (entry = readdir(d))) {
        int64_t pid;

        if (parse_i64(entry->d_name, 2, INT_MAX, &pid) == 0)
            r = consider_process(in, (pid_t)pid, true, "slurmstepd", &list);
    }
    (void)closedir(d);
    if (r < 0) {
        procs_done(&list);
        return r;
    }
    *ret = list;
    return 0;
}

void procs_done(struct procs *p)
{
    for (size_t i = 0; i < p->n; i++)
        (void)close(p->items[i].fd);
    free(p->items);
    *p = (struct procs){ 0 };
}

void procs_signal(const struct procs *p, int sig)
{
    for (size_t i = 0; i < p->n; i++)
        (void)pidfd_send_signal(p->items[i].fd, sig, NULL, 0); /* gone is as good */
}

/* Milliseconds left until the deadline, for poll(2). */
static int left_ms(int64_t deadline_mono_us)
{
    int64_t left = (deadline_mono_us - now_mono_us()) / 1000;

    return left > 0 ? (int)MIN(left + 1, (int64_t)INT_MAX) : 0;
}

size_t procs_wait(const struct procs *p, int64_t deadline_mono_us)
{
    size_t left = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct pollfd pfd = { .fd = p->items[i].fd, .events = POLLIN };
        int r;

        do
            r = poll(&pfd, 1, left_ms(deadline_mono_us));
        while (r < 0 && errno == EINTR);
        left += r != 1;
    }
    return left;
}

int proc_start(char *const *argv, int out_fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t fa;
    int r;

    if (posix_spawn_file_actions_init(&fa) != 0)
        return -ENOMEM;
    r = posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    if (!r)
        r = posix_spawn_file_actions_adddup2(&fa, out_fd, 1);
    if (!r)
        r = posix_spawn_file_actions_adddup2(&fa, out_fd, 2);
    if (!r)
        r = posix_spawn(ret_pid, argv[0], &fa, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&fa);
    return -r;
}

int proc_finish(pid_t pid, int64_t deadline_mono_us)
{
    _cleanup_close_ int fd = pidfd_open(pid, 0);
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    int status, r = 0;

    if (fd >= 0) {
        do
            r = poll(&pfd, 1, left_ms(deadline_mono_us));
        while (r < 0 && errno == EINTR);
        if (r == 0)
            (void)kill(pid, SIGKILL); /* our own child, not yet reaped */
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (fd >= 0 && r == 0)
        return -ETIMEDOUT;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EREMOTEIO;
}
