/* scriptfollow.c - the output of a batch script, for clients that attach to it; see step.h
 *
 * The script has its files themselves, so they are read as they grow, from where they end when
 * the first client comes. Nothing is lost while all clients are slow: it stays in the file.  A
 * stream that is no regular file is not seen. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/io/usermount.h"
#include "stepd/step.h"

struct follow {
    int watch; /* inotify */
    struct {
        int fd; /* -1: not followed */
        off_t at;
    } files[2];  /* standard output, standard error */
    bool behind; /* there may be more to read */
};

/* Open what fd is, once more and as the user; not where a program of his would answer. */
static int reopen_file(struct step *s, int fd, struct stat *ret_st)
{
    char path[32];
    int again;

    if (fd < 0 || usermount_has(fd) || output_as_user(s) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    output_as_self(s);
    if (again >= 0 && (fstat(again, ret_st) < 0 || !S_ISREG(ret_st->st_mode))) {
        (void)close(again);
        again = -1;
    }
    return again;
}

static void begin_file(struct step *s, struct follow *f, int i, int fd)
{
    struct stat st;
    char path[32];

    f->files[i].fd = reopen_file(s, fd, &st);
    if (f->files[i].fd < 0)
        return;
    f->files[i].at = st.st_size;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->files[i].fd);
    /* without it the end of the step is waited for */
    (void)inotify_add_watch(f->watch, path, IN_MODIFY);
}

static bool same_file(int a, int b)
{
    struct stat x, y;

    return !usermount_has(a) && !usermount_has(b) && fstat(a, &x) == 0 && fstat(b, &y) == 0 &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

void follow_begin(struct step *s)
{
    struct follow *f;

    if (s->follow || s->launch)
        return;
    f = calloc(1, sizeof(*f));
    if (!f)
        return; /* attached clients see the step's end, but no output */
    f->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    begin_file(s, f, 0, s->out_fd);
    f->files[1].fd = -1;
    if (!same_file(s->out_fd, s->err_fd))
        begin_file(s, f, 1, s->err_fd);
    s->follow = f;
}

int follow_fd(const struct step *s)
{
    return s->follow ? s->follow->watch : -1;
}

static void read_file(struct step *s, int i)
{
    uint8_t buf[STEP_CHUNK];
    struct follow *f = s->follow;

    while (f->files[i].fd >= 0) {
        struct stat st;
        ssize_t n;

        if (!attach_room(s)) {
            f->behind = true;
            return;
        }
        n = pread(f->files[i].fd, buf, sizeof(buf), f->files[i].at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* the script may have begun it anew */
            if (n == 0 && fstat(f->files[i].fd, &st) == 0 && st.st_size < f->files[i].at)
                f->files[i].at = st.st_size;
            return;
        }
        f->files[i].at += n;
        io_send(s, &s->tasks[0], i + 1, buf, (size_t)n, false);
    }
}

void follow_look(struct step *s)
{
    struct follow *f = s->follow;
    char events[1024];

    if (!f)
        return;
    while (f->watch >= 0 && read(f->watch, events, sizeof(events)) > 0)
        ; /* which file it was does not matter */
    f->behind = false;
    for (int i = 0; i < 2 && attach_any(s); i++)
        read_file(s, i);
}

bool follow_drained(const struct step *s)
{
    return !s->follow || !s->follow->behind || !attach_any(s);
}

void follow_done(struct step *s)
{
    struct follow *f = s->follow;

    if (!f)
        return;
    for (int i = 0; i < 2; i++)
        if (f->files[i].fd >= 0)
            (void)close(f->files[i].fd);
    if (f->watch >= 0)
        (void)close(f->watch);
    free(f);
    s->follow = NULL;
}
