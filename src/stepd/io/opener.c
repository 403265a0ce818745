/* opener.c - open what may make its opener wait; see step.h
 *
 * A FIFO waits for its other end, a file under a lease for its holder, a folder for the program
 * that serves its file system.  Users expect what a shell does: the command starts when the other
 * end is there.  So a process of the user does the waiting and hands over the descriptor, and the
 * step daemon stays what it is: it can be asked, and told to end.  That process is the user in
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
#include "stepd/shared/asuser.h"
#include "stepd/step.h"

#define KEPT_FD 3 /* all that the process needs is its way to answer */

union fd_space {
    struct cmsghdr align;
    char space[CMSG_SPACE(sizeof(int))];
};

/* r is what is told; fd goes with it unless it is negative. */
static void send_answer(int sock, int r, int fd)
{
    struct iovec iov = { &r, sizeof(r) };
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

/* A negative errno is also what the end of the process without an answer gives. */
static int receive_answer(int sock)
{
    int r = -EIO, fd;
    struct iovec iov = { &r, sizeof(r) };
    union fd_space control;
    struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
    const struct cmsghdr *c;

    mh.msg_control = control.space;
    mh.msg_controllen = sizeof(control.space);
    if (recvmsg(sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(r))
        return -EIO;
    c = CMSG_FIRSTHDR(&mh);
    if (r < 0 || !c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(sizeof(int)))
        return r < 0 ? r : -EIO;
    memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

/* Has the step daemon, at the other end?  In a namespace of the job's no number is its. */
static bool has_ended(int sock)
{
    char byte;

    return recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Until the file is open, or we are in the folder, or the step daemon ends us. */
static void open_as_user(const struct step *s, const char *path, int flags, bool enter, int sock)
{
    int r, fd = -1;

    (void)setsid(); /* a fresh process leads nothing */
    if (sock != KEPT_FD && dup2(sock, KEPT_FD) < 0)
        _exit(1);
    (void)close_range(KEPT_FD + 1, ~0u,
                      0); /* srun's connection must not outlive the step daemon here */
    r = become_user(s->uid, s->gid, s->gids, s->n_gids);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || has_ended(KEPT_FD))
        _exit(1);
    (void)umask(s->umask);
    if (r == 0 && enter)
        r = chdir(path) < 0 ? -errno : 0;
    if (r == 0) {
        fd = open(enter ? "." : path, flags | O_CLOEXEC | O_NOCTTY, 0666);
        r = fd < 0 ? -errno : 0;
    }
    send_answer(KEPT_FD, r, fd);
    _exit(0);
}

static int open_beside(struct step *s, const char *path, int flags, bool enter)
{
    _cleanup_close_ int ours = -1, theirs = -1;
    pid_t pid;
    int sv[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
        return -errno;
    ours = sv[0];
    theirs = sv[1];
    pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        open_as_user(s, path, flags, enter, theirs);
    (void)close(TAKE_FD(theirs)); /* so that its end is seen */
    await_begin(s, pid);
    r = await_fd(s, ours, INT64_MAX);
    if (r == 0)
        r = receive_answer(ours);
    (void)await_end(s); /* what it did is known from its answer */
    return r;
}

int opener_open(struct step *s, const char *path, int flags)
{
    return open_beside(s, path, flags, false);
}

int opener_enter(struct step *s, const char *path)
{
    int fd = open_beside(s, path, O_PATH | O_DIRECTORY, true);

    if (fd < 0)
        return fd;
    (void)close(fd); /* nothing was written */
    return 0;
}
