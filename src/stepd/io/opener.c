/* opener.c - look at what may make who looks wait; see step.h
 *
 * A FIFO waits for its other end, a file under a lease for its holder, a folder for the program
 * that serves its file system.  Users expect what a shell does: the command starts when the other
 * end is there.  So a process of the user does the waiting and hands over what it has, and the step
 * daemon stays what it is: it can be asked, and told to end.  That process is the user in
 * every sense; file systems that users serve themselves let nobody else in. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/io/userfile.h"
#include "stepd/shared/asuser.h"
#include "stepd/step.h"

#define KEPT_FD 3 /* all that the process needs is its way to answer */

union fd_space {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof(int))];
};

enum act {
    ACT_OPEN,
    ACT_ENTER,
    ACT_FOLDERS,
    ACT_HEAD,
};

struct work {
    enum act act;
    const char *path;
    int flags; /* of ACT_OPEN */
};

struct answer {
    int r; /* 0 or a negative errno; of ACT_HEAD how many bytes */
    char head[OPENER_HEAD];
};

/* fd goes with it unless it is negative. */
static void send_answer(int sock, struct answer *a, int fd)
{
    struct iovec iov = { a, sizeof(*a) };
    struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
    union fd_space control = { .space = { 0 } };

    if (fd >= 0) {
        mh.msg_control = control.space;
        mh.msg_controllen = sizeof(control.space);
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.align), &fd, sizeof(int));
    }
    (void)sendmsg(sock, &mh, MSG_NOSIGNAL); /* a step daemon that is gone has ended us too */
}

/* *ret_fd is -1 when none came.  The end of the process without an answer is an error, too. */
static int receive_answer(int sock, struct answer *ret, int *ret_fd)
{
    struct iovec iov = { ret, sizeof(*ret) };
    union fd_space control;
    struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
    const struct cmsghdr *c;

    *ret_fd = -1;
    mh.msg_control = control.space;
    mh.msg_controllen = sizeof(control.space);
    if (recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*ret))
        return -EIO;
    c = CMSG_FIRSTHDR(&mh);
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
    return ret->r;
}

/* Has the step daemon, at the other end?  In a namespace of the job's no number is its. */
static bool has_ended(int sock)
{
    char byte;

    return recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* What cannot be made is told by the open that follows. */
static int make_folders(const char *path)
{
    _cleanup_free_ char *part = strdup(path);

    if (!part)
        return -ENOMEM;
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) < 0 && errno != EEXIST)
            break; /* nothing below it can be made */
        *slash = '/';
    }
    return 0;
}

static int read_head(const char *path, char head[OPENER_HEAD])
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, head, OPENER_HEAD);

    return n < 0 ? -errno : (int)n;
}

static int enter_folder(const char *path)
{
    int fd = chdir(path) < 0 ? -1 : open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static void carry_out(const struct work *w, struct answer *a, int *ret_fd)
{
    switch (w->act) {
    case ACT_OPEN:
        *ret_fd = userfile_open(w->path, w->flags);
        a->r = MIN(*ret_fd, 0);
        break;
    case ACT_ENTER:
        *ret_fd = enter_folder(w->path);
        a->r = MIN(*ret_fd, 0);
        break;
    case ACT_FOLDERS:
        a->r = make_folders(w->path);
        break;
    case ACT_HEAD:
        a->r = read_head(w->path, a->head);
        break;
    }
}

/* Until it is done, or the step daemon ends us. */
static void work_as_user(const struct step *s, const struct work *w, int sock)
{
    struct answer a = { .r = 0 };
    int fd = -1;

    (void)setsid(); /* a fresh process leads nothing */
    if (sock != KEPT_FD && dup2(sock, KEPT_FD) < 0)
        _exit(1);
    (void)close_range(KEPT_FD + 1, ~0u,
                      0); /* srun's connection must not outlive the step daemon here */
    a.r = become_user(s->uid, s->gid, s->gids, s->n_gids);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || has_ended(KEPT_FD))
        _exit(1);
    (void)umask(s->umask);
    if (a.r == 0)
        carry_out(w, &a, &fd);
    send_answer(KEPT_FD, &a, fd);
    _exit(0);
}

static int work_beside(struct step *s, const struct work *w, struct answer *ret, int *ret_fd)
{
    _cleanup_close_ int ours = -1, theirs = -1;
    pid_t pid;
    int sv[2], r;

    *ret_fd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
        return -errno;
    ours = sv[0];
    theirs = sv[1];
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        work_as_user(s, w, theirs);
    (void)close(TAKE_FD(theirs)); /* so that its end is seen */
    await_begin(s, pid);
    r = await_fd(s, ours, INT64_MAX);
    if (r == 0)
        r = receive_answer(ours, ret, ret_fd);
    (void)await_end(s); /* what it did is known from its answer */
    return r;
}

int opener_open(struct step *s, const char *path, int flags)
{
    const struct work w = { .act = ACT_OPEN, .path = path, .flags = flags };
    struct answer a;
    int fd, r = work_beside(s, &w, &a, &fd);

    return r < 0 ? r : fd < 0 ? -EIO : fd;
}

int opener_enter(struct step *s, const char *path)
{
    const struct work w = { .act = ACT_ENTER, .path = path };
    struct answer a;
    int fd, r = work_beside(s, &w, &a, &fd);

    if (fd >= 0)
        (void)close(fd); /* nothing was written */
    return r;
}

void opener_folders(struct step *s, const char *path)
{
    const struct work w = { .act = ACT_FOLDERS, .path = path };
    struct answer a;
    int fd;

    (void)work_beside(s, &w, &a, &fd); /* the open that follows tells */
}

int opener_head(struct step *s, const char *path, char head[OPENER_HEAD])
{
    const struct work w = { .act = ACT_HEAD, .path = path };
    struct answer a;
    int fd, r = work_beside(s, &w, &a, &fd);

    if (r > 0)
        memcpy(head, a.head, (size_t)r);
    return r;
}
