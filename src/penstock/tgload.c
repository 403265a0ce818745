/* tgload.c - see tgload.h */
#include "penstock/tgload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/spawnprog.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "penstock/penstock.h"

#define PROGRAM_S 300

extern char **environ;

/* All that comes from fd until its end, within the time. */
static int read_pipe(int fd, size_t max, int64_t deadline_mono_us, struct strbuf *out)
{
    for (;;) {
        int64_t left_ms = (deadline_mono_us - now_mono_us()) / 1000;
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t n;
        char *room;

        if (left_ms <= 0)
            return -ETIMEDOUT;
        if (poll(&p, 1, (int)left_ms) <= 0)
            continue;
        room = strbuf_room(out, 65536);
        if (!room)
            return -ENOMEM;
        n = read(fd, room, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        strbuf_grew(out, (size_t)n);
        if (out->len > max)
            return -EFBIG;
    }
}

/* The program leads a session of its own: what it started ends with it. */
static int end_program(pid_t pid, bool kill_it)
{
    int status;

    if (kill_it)
        (void)kill(-pid, SIGKILL); /* it may be gone */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EREMOTEIO;
}

int tgload_program(char *const *argv, size_t max, char **ret_text, size_t *ret_len, struct err *err)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    _cleanup_close_ int from = -1, to = -1, in = -1, said = -1;
    int ends[2], fds[3], r;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, -errno, "%s", strerror(errno));
    from = ends[0];
    /* Above the numbers that the program gets them under. */
    to = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    (void)close(ends[1]);
    in = fcntl(open("/dev/null", O_RDONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
    said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    fds[0] = in;
    fds[1] = to;
    fds[2] = said;
    r = to < 0 ? -errno
               : spawn_program(
                     &(struct spawn){
                         .path = argv[0], .argv = argv, .envp = environ, .fds = fds, .n_fds = 3 },
                     &pid);
    if (r < 0)
        return err_set(err, r, "%s cannot be started: %s", argv[0], strerror(-r));
    (void)close(TAKE_FD(to));
    r = read_pipe(from, max, now_mono_us() + INT64_C(1000000) * PROGRAM_S, &out);
    if (r < 0)
        (void)end_program(pid, true);
    else
        r = end_program(pid, false);
    *ret_len = out.len;
    if (r == 0)
        r = strbuf_detach(&out, ret_text);
    return r == -EREMOTEIO ? err_set(err, r, "the program failed")
           : r < 0         ? err_set(err, r, "%s", strerror(-r))
                           : 0;
}

int tgload_input(void *ctx, const char *what, bool program, char **ret_text, size_t *ret_len,
                 struct err *err)
{
    char *const argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)(uintptr_t)what, NULL };
    int r;

    (void)ctx;
    if (program) {
        r = tgload_program(argv, TGRUN_INPUT_MAX, ret_text, ret_len, err);
        if (r < 0)
            err_prefix(err, "%.200s", what);
        return r;
    }
    r = strcmp(what, "-") == 0 ? readfile_fd(STDIN_FILENO, TGRUN_INPUT_MAX, ret_text, ret_len)
                               : readfile(what, TGRUN_INPUT_MAX, ret_text, ret_len);
    return r < 0 ? err_set(err, r, "cannot read %.200s: %s", what, strerror(-r)) : 0;
}

int tgload_partition(void *ctx, const char *name, char **ret_nodes, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    char scontrol[INSTANCE_PATH_MAX];
    const char *at;
    size_t len;
    char *argv[] = {
        scontrol, (char *)"-o", (char *)"show", (char *)"partition", (char *)(uintptr_t)name, NULL
    };
    int r = program_find("scontrol", scontrol, sizeof(scontrol), err);

    (void)ctx;
    if (*name == '-')
        return err_set(err, -EINVAL, "%.64s is no partition", name);
    if (r == 0)
        r = tgload_program(argv, TGRUN_INPUT_MAX, &text, &len, err);
    if (r < 0) {
        err_prefix(err, "partition %.64s", name);
        return r;
    }
    at = strstr(text, " Nodes=");
    at = at ? at + 7 : "";
    len = strcspn(at, " \n");
    if (strncmp(at, "(null)", len) == 0 || strncmp(at, "NONE", len) == 0)
        len = 0;
    *ret_nodes = strndup(at, len);
    return *ret_nodes ? 0 : err_nomem(err);
}

int tgload_write(const char *path, const char *text, size_t len, struct err *err)
{
    _cleanup_free_ char *fresh = NULL;
    _cleanup_close_ int fd = -1;
    int r = 0;

    if (asprintf(&fresh, "%s.%ld.new", path, (long)getpid()) < 0)
        return err_nomem(err);
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set(err, -errno, "cannot write %.200s: %s", fresh, strerror(errno));
    for (size_t done = 0; r == 0 && done < len;) {
        ssize_t n = write(fd, text + done, len - done);

        if (n < 0 && errno != EINTR)
            r = -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    if (r == 0 && (fsync(fd) < 0 || rename(fresh, path) < 0))
        r = -errno;
    if (r < 0)
        (void)unlink(fresh); /* what is left of it says nothing */
    return r < 0 ? err_set(err, r, "cannot write %.200s: %s", path, strerror(-r)) : 0;
}
