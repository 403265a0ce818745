/* restchild.c - the slurmrestd that slurmctld runs for callers of its own port; see restchild.h
 *
 * Connections travel over a pair of sockets, each as a message of one byte with a descriptor
 * (rest/resttake.h).  The core's thread starts, replaces and reaps processes; the threads of
 * connections only send, under the lock. */
#include "ctld/web/restchild.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/beside.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"
#include "conf/conf.h"

#define OLD_MAX 4u                  /* processes that still make answers */
#define AGAIN_US (2 * USEC_PER_SEC) /* between two starts */
#define END_MS 3000                 /* slurmrestd's answers under way when slurmctld ends */
#define QUEUE_BYTES (256 * 1024)    /* connections under way to slurmrestd */
#define PATH_SIZE 4096u

struct restchild {
    pthread_mutex_t lock; /* of sock and wanted */
    int sock;             /* -1: REST is not served */
    pid_t pid;            /* 0: none runs */
    pid_t old[OLD_MAX];   /* replaced, not reaped yet; 0: free */
    int64_t started_mono_us;
    bool wanted;
    char conf_path[PATH_SIZE];
    char user[64]; /* that it becomes; "": it stays who we are */
};

/* ---- requests -------------------------------------------------------------------------------- */

bool restchild_wants(const char *head, size_t n)
{
    static const char *const roots[] = { "/slurm/",  "/slurmdb/", "/penstock/", "/util/",
                                         "/openapi", "/ui/",      "/ui " };
    const char *path = memchr(head, ' ', n);
    size_t left = path ? n - (size_t)(++path - head) : 0;

    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        size_t len = strlen(roots[i]);

        if (left >= len && memcmp(path, roots[i], len) == 0)
            return true;
    }
    return false;
}

/* The receiver gets a descriptor of its own. */
static int send_fd(int sock, int fd)
{
    char byte = 0;
    struct iovec iov = { &byte, 1 };
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = { .space = { 0 } };
    struct msghdr mh = { .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.space,
                         .msg_controllen = sizeof(control.space) };

    control.align.cmsg_level = SOL_SOCKET;
    control.align.cmsg_type = SCM_RIGHTS;
    control.align.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
    return sendmsg(sock, &mh, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

bool restchild_take(struct restchild *rc, int fd, const char *head, size_t n)
{
    int r = -ESRCH;
    bool served;

    if (!restchild_wants(head, n))
        return false;
    pthread_mutex_lock(&rc->lock);
    served = rc->wanted;
    if (served && rc->sock >= 0)
        r = send_fd(rc->sock, fd);
    pthread_mutex_unlock(&rc->lock);
    if (!served)
        return false;
    if (r < 0)
        log_limited(LOG_INFO, "connection closed: slurmrestd does not take it: %s", strerror(-r));
    (void)close(fd); /* slurmrestd has its own, or the caller tries again */
    return true;
}

/* ---- the process ----------------------------------------------------------------------------- */

static void close_socket(struct restchild *rc)
{
    pthread_mutex_lock(&rc->lock);
    if (rc->sock >= 0)
        (void)close(TAKE_FD(rc->sock));
    pthread_mutex_unlock(&rc->lock);
}

/* The end of its socket tells the process that no caller comes any more. */
static void retire_process(struct restchild *rc)
{
    size_t i = 0;

    close_socket(rc);
    if (!rc->pid)
        return;
    while (i + 1 < OLD_MAX && rc->old[i])
        i++;
    if (rc->old[i]) { /* reloads faster than answers */
        (void)kill(rc->old[i], SIGKILL);
        (void)waitpid(rc->old[i], NULL, 0);
    }
    rc->old[i] = rc->pid;
    rc->pid = 0;
}

static int make_sockets(int ret_fds[2])
{
    int size = QUEUE_BYTES, high;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0)
        return -errno;
    (void)setsockopt(ret_fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)); /* else the default */
    high = fcntl(ret_fds[1], F_DUPFD_CLOEXEC, 3); /* spawn_program() wants it above 2 */
    (void)close(ret_fds[1]);
    ret_fds[1] = high;
    if (high >= 0)
        return 0;
    (void)close(ret_fds[0]);
    return -EMFILE;
}

/* As root slurmrestd becomes another user.  Else it is the user that the controller is, which
 * slurmrestd refuses unless it is told not to. */
static int spawn_rest(struct restchild *rc, const char *exe, int sock)
{
    char conf_line[PATH_SIZE + 16];
    char *argv[] = { (char *)"slurmrestd",
                     (char *)"--take-connections",
                     (char *)"-f",
                     rc->conf_path,
                     (char *)"-a",
                     (char *)"rest_auth/jwt",
                     (char *)"-u",
                     rc->user,
                     NULL };
    char *envp[] = { (char *)"PATH=/usr/bin:/bin", conf_line,
                     (char *)"SLURMRESTD_SECURITY=disable_user_check", NULL };
    int fds[3] = { sock, -1, fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) };
    struct spawn s = { .path = exe, .argv = argv, .envp = envp, .fds = fds, .n_fds = 3 };
    int r;

    if (!rc->user[0])
        argv[6] = NULL;
    else
        envp[2] = NULL;
    (void)snprintf(conf_line, sizeof(conf_line), "SLURM_CONF=%s", rc->conf_path);
    r = spawn_program(&s, &rc->pid);
    if (fds[2] >= 0)
        (void)close(fds[2]);
    return r;
}

static int start_process(struct restchild *rc)
{
    static const char *const places[] = { "slurmrestd", "../rest/slurmrestd" };
    char exe[PATH_SIZE];
    int fds[2] = { -1, -1 };
    int r = beside_find(places, ARRAY_SIZE(places), exe, sizeof(exe));

    rc->started_mono_us = now_mono_us();
    if (r == 0)
        r = make_sockets(fds);
    if (r == 0) {
        r = spawn_rest(rc, exe, fds[1]);
        (void)close(fds[1]);
    }
    if (r < 0) {
        rc->pid = 0;
        if (fds[0] >= 0)
            (void)close(fds[0]);
        return r;
    }
    pthread_mutex_lock(&rc->lock);
    rc->sock = fds[0];
    pthread_mutex_unlock(&rc->lock);
    return 0;
}

static void try_start(struct restchild *rc)
{
    int r = start_process(rc);

    if (r < 0)
        log_limited(LOG_ERROR, "enable_rest: slurmrestd cannot be started: %s", strerror(-r));
}

static void read_user(struct restchild *rc, const struct conf *conf)
{
    const char *user = "nobody";
    size_t len = strlen(user);

    rc->user[0] = '\0';
    if (geteuid() != 0)
        return;
    (void)conf_option(conf, CONF_SLURMCTLD_PARAMETERS, "rest_user", &user, &len);
    (void)snprintf(rc->user, sizeof(rc->user), "%.*s", (int)len, user);
}

void restchild_configure(struct restchild *rc, const struct conf *conf, const char *path)
{
    bool on = conf_option(conf, CONF_SLURMCTLD_PARAMETERS, "enable_rest", NULL, NULL) &&
              !conf_option(conf, CONF_COMMUNICATION_PARAMETERS, "disable_http", NULL, NULL);

    retire_process(rc);
    pthread_mutex_lock(&rc->lock);
    rc->wanted = on;
    pthread_mutex_unlock(&rc->lock);
    if (!on)
        return;
    (void)snprintf(rc->conf_path, sizeof(rc->conf_path), "%s", path);
    read_user(rc, conf);
    try_start(rc);
}

/* waitpid(2) that gives true when the process is gone. */
static bool has_ended(pid_t pid, int *ret_status)
{
    pid_t r = waitpid(pid, ret_status, WNOHANG);

    return r == pid || (r < 0 && errno == ECHILD);
}

void restchild_tick(struct restchild *rc)
{
    int status = 0;

    for (size_t i = 0; i < OLD_MAX; i++)
        if (rc->old[i] && has_ended(rc->old[i], &status))
            rc->old[i] = 0;
    if (rc->pid && has_ended(rc->pid, &status)) {
        log_error("slurmrestd of enable_rest ended, %s %d",
                  WIFSIGNALED(status) ? "signal" : "exit code",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        rc->pid = 0;
        close_socket(rc);
    }
    if (rc->wanted && !rc->pid && now_mono_us() - rc->started_mono_us >= AGAIN_US)
        try_start(rc);
}

/* ---- life ------------------------------------------------------------------------------------ */

int restchild_new(struct restchild **ret)
{
    struct restchild *rc = calloc(1, sizeof(*rc));

    if (!rc)
        return -ENOMEM;
    (void)pthread_mutex_init(&rc->lock, NULL); /* cannot fail */
    rc->sock = -1;
    *ret = rc;
    return 0;
}

static void end_process(pid_t pid, int64_t deadline_mono_us)
{
    struct timespec step = { .tv_nsec = 5 * 1000 * 1000 };

    (void)kill(pid, SIGTERM);
    while (!has_ended(pid, NULL)) {
        if (now_mono_us() > deadline_mono_us)
            (void)kill(pid, SIGKILL);
        (void)nanosleep(&step, NULL); /* until the process is gone */
    }
}

struct restchild *restchild_free(struct restchild *rc)
{
    int64_t deadline = now_mono_us() + (int64_t)END_MS * 1000;

    if (!rc)
        return NULL;
    retire_process(rc);
    for (size_t i = 0; i < OLD_MAX; i++)
        if (rc->old[i])
            end_process(rc->old[i], deadline);
    (void)pthread_mutex_destroy(&rc->lock);
    free(rc);
    return NULL;
}
