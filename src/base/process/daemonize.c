/* daemonize.c - see daemonize.h */
#include "base/process/daemonize.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define PID_BYTES 24 /* a number, a line's end */

int daemonize_detach(int *ret_ready_fd, struct err *err)
{
    int fds[2];
    pid_t pid;
    char ok;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    pid = fork();
    if (pid < 0) {
        int r = err_set(err, -errno, "cannot fork: %s", strerror(errno));

        (void)close(fds[0]);
        (void)close(fds[1]);
        return r;
    }
    if (pid > 0) {
        (void)close(fds[1]);
        _exit(read(fds[0], &ok, 1) == 1 ? 0 : 1);
    }
    (void)close(fds[0]);
    (void)setsid(); /* cannot fail in a fresh child */
    *ret_ready_fd = fds[1];
    return 0;
}

void daemonize_ready(int ready_fd)
{
    int null_fd;

    if (ready_fd < 0)
        return;
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null_fd >= 0 && i < 3; i++)
        (void)dup2(null_fd, i); /* keeps the terminal at worst */
    if (null_fd > 2)
        (void)close(null_fd);
    if (write(ready_fd, "", 1) < 0)
        log_debug("the starting command did not wait");
    (void)close(ready_fd);
}

void daemonize_serve(int ready_fd)
{
    daemonize_notify("READY=1");
    daemonize_ready(ready_fd);
}

/* The kernel's word on the folder that we are in: its name may lead elsewhere a moment later. */
static bool enter_folder(const char *dir, char ret_dir[PATH_MAX])
{
    struct stat st;

    return chdir(dir) == 0 && stat(".", &st) == 0 && !(st.st_mode & S_IWOTH) &&
           (st.st_uid == 0 || st.st_uid == geteuid()) && getcwd(ret_dir, PATH_MAX);
}

void daemonize_work_in(const char *log_file, const char *state_dir, char ret_dir[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = log_file ? strrchr(log_file, '/') : NULL;

    if (log_file && log_file[0] != '/') {
        if (!getcwd(ret_dir, PATH_MAX))
            (void)snprintf(ret_dir, PATH_MAX, "/");
        return;
    }
    (void)snprintf(folder, sizeof(folder), "%.*s", slash ? MAX((int)(slash - log_file), 1) : 0,
                   slash ? log_file : "");
    if ((folder[0] && enter_folder(folder, ret_dir)) ||
        (state_dir && enter_folder(state_dir, ret_dir)))
        return;
    (void)snprintf(ret_dir, PATH_MAX, "/");
    if (chdir("/") < 0)
        log_error("cannot change to /: %s", strerror(errno));
}

void daemonize_limits(void)
{
    struct rlimit rl;

    if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
        rl.rlim_cur = rl.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &rl); /* fewer connections then */
    }
    rl = (struct rlimit){ 0, 0 };
    (void)setrlimit(RLIMIT_CORE, &rl); /* its absence is no danger */
}

void daemonize_notify(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = -1;
    size_t len = path ? strlen(path) : 0;

    if (len < 2 || len >= sizeof(sa.sun_path))
        return;
    memcpy(sa.sun_path, path, len);
    if (sa.sun_path[0] == '@') /* the abstract name space */
        sa.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&sa,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
        log_error("cannot notify the service manager: %s", strerror(errno));
}

/* In place: a reader never finds an empty file, and the folder need not be ours. */
void daemonize_pid_file(const char *path)
{
    char text[PID_BYTES];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid()); /* fits */
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd < 0 || pwrite(fd, text, (size_t)len, 0) != len || ftruncate(fd, len) < 0)
        log_error("cannot write the pid file %s: %s", path, strerror(errno));
}

void daemonize_pid_remove(const char *path)
{
    char text[PID_BYTES] = "";
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strtol(text, NULL, 10) == (long)getpid())
        (void)unlink(path); /* the next start writes it anew */
}
