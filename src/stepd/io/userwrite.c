/* userwrite.c - see userwrite.h */
#include "stepd/io/userwrite.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "stepd/io/labelfile.h"
#include "stepd/io/usermount.h"
#include "stepd/shared/asuser.h"
#include "stepd/step.h"

#define SLOW_MS 200 /* so long a text is waited for, until one took longer */
#define FILE_FD 3   /* all that a process needs: the file, and where lines come from */
#define LINES_FD 4

struct writer {
    struct writer *next;
    pid_t pid;
    const struct task *task; /* NULL: a text */
};

struct userwrites {
    struct writer *first;
    bool slow;
    int64_t until_us; /* 0: the tasks are not over */
};

int userwrite_new(struct userwrites **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct userwrites *userwrite_free(struct userwrites *u)
{
    while (u && u->first) {
        struct writer *w = u->first;

        u->first = w->next;
        free(w);
    }
    free(u);
    return NULL;
}

/* ---- the process ----------------------------------------------------------------------------- */

/* srun's connection must not outlive the step daemon here.  lines: -1: none. */
static void keep_files(int file, int lines)
{
    int high_file = fcntl(file, F_DUPFD, LINES_FD + 1);
    int high_lines = lines < 0 ? -1 : fcntl(lines, F_DUPFD, LINES_FD + 1);

    if (high_file < 0 || dup2(high_file, FILE_FD) < 0 ||
        (lines >= 0 && (high_lines < 0 || dup2(high_lines, LINES_FD) < 0)))
        _exit(EMFILE);
    (void)close_range(lines < 0 ? LINES_FD : LINES_FD + 1, ~0u, 0);
}

static void begin_writer(const struct step *s, int file, int lines)
{
    static const int asked[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE };
    int r;

    (void)setsid(); /* a fresh process leads nothing */
    for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
        (void)signal(asked[i], SIG_IGN); /* what is meant for the tasks ends them first */
    keep_files(file, lines);
    r = become_user(s->uid, s->gid, s->gids, s->n_gids);
    if (r < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        _exit(r < 0 ? -r : errno);
}

static void write_text(const char *text, size_t len)
{
    _exit(write(FILE_FD, text, len) < 0 ? errno : 0); /* there is no other place for the line */
}

static void write_lines(uint32_t rank, uint32_t tasks)
{
    struct labelfile *f = labelfile_new(FILE_FD, rank, tasks);
    char buf[4096];
    ssize_t n = 0;
    int r = f ? 0 : -ENOMEM;

    while (r == 0 && (n = read(LINES_FD, buf, sizeof(buf))) != 0)
        r = n > 0 ? labelfile_put(f, buf, (size_t)n) : errno == EINTR ? 0 : -errno;
    if (r == 0)
        r = labelfile_end(f);
    _exit(-r);
}

/* ---- the step daemon ------------------------------------------------------------------------- */

static struct writer *add_writer(const struct userwrites *u, const struct task *t)
{
    struct writer *w = calloc(1, sizeof(*w));

    if (w)
        *w = (struct writer){ .next = u->first, .task = t };
    return w;
}

/* Texts of one file come in order as long as it takes them at once. */
static void wait_for_text(struct userwrites *u, pid_t pid)
{
    _cleanup_close_ int fd = u->slow ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };

    if (fd >= 0)
        u->slow = poll(&p, 1, SLOW_MS) == 0;
}

void userwrite_text(const struct step *s, int fd, const char *text, size_t len)
{
    struct writer *w = s->userwrites ? add_writer(s->userwrites, NULL) : NULL;
    pid_t pid = w ? fork() : -1;

    if (pid < 0) {
        free(w); /* the line is lost */
        return;
    }
    if (pid == 0) {
        begin_writer(s, fd, -1);
        write_text(text, len);
    }
    w->pid = pid;
    s->userwrites->first = w;
    wait_for_text(s->userwrites, pid);
}

int userwrite_lines(const struct step *s, const struct task *t, int fd, uint32_t tasks)
{
    struct writer *w = add_writer(s->userwrites, t);
    int p[2] = { -1, -1 }, r = !w || pipe2(p, O_CLOEXEC) < 0 ? -errno : 0;
    pid_t pid = r < 0 ? -1 : fork();

    if (pid == 0) {
        begin_writer(s, fd, p[0]);
        write_lines(t->rank, tasks);
    }
    if (pid < 0) {
        r = r < 0 ? r : -errno;
        free(w);
        if (p[1] >= 0)
            (void)close(p[1]); /* nothing was written, nor into the other end */
    } else {
        w->pid = pid;
        s->userwrites->first = w;
        r = p[1];
    }
    if (p[0] >= 0)
        (void)close(p[0]);
    usermount_close(fd);
    return r;
}

bool userwrite_reaped(struct userwrites *u, pid_t pid, int status, const struct task **ret_task,
                      int *ret_r)
{
    for (struct writer **at = u ? &u->first : NULL, *w; at && (w = *at); at = &w->next) {
        if (w->pid != pid)
            continue;
        *ret_task = w->task;
        *ret_r = WIFEXITED(status) ? -WEXITSTATUS(status) : 0; /* killed: with the step */
        *at = w->next;
        free(w);
        return true;
    }
    return false;
}

void userwrite_kill(struct userwrites *u)
{
    for (const struct writer *w = u ? u->first : NULL; w; w = w->next)
        (void)kill(w->pid, SIGKILL); /* not waited for yet: the number is its own */
}

int64_t userwrite_until(struct userwrites *u, int64_t now_mono_us)
{
    if (!u || !u->first)
        return 0;
    if (!u->until_us)
        u->until_us = now_mono_us + USERWRITE_REST_US;
    return now_mono_us < u->until_us ? u->until_us : 0;
}
