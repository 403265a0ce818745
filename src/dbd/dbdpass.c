/* dbdpass.c - the password at the database server, written down or printed by a program of the
 * site, as `TOKEN=PASSWORD` or alone */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"
#include "dbd/dbd.h"

#define PASS_MAX_BYTES 1024u
#define LIMIT_MS 10000
#define TOKEN "TOKEN=" /* what the program may print before the password */

/* What it writes until it closes its output, at most size - 1 bytes. */
static int read_all(int fd, char *buf, size_t size)
{
    int64_t deadline = now_mono_us() + LIMIT_MS * INT64_C(1000);
    size_t len = 0;

    while (len < size - 1) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int64_t left_ms = (deadline - now_mono_us()) / 1000;
        ssize_t n;

        if (left_ms <= 0 || (poll(&p, 1, (int)left_ms) <= 0 && errno != EINTR))
            return -ETIMEDOUT;
        n = read(fd, buf + len, size - 1 - len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    buf[len] = '\0';
    return len == size - 1 && !strchr(buf, '\n') ? -EMSGSIZE : 0; /* cut it would be another */
}

/* With where the password is for; that lies in `text`. */
static char **environment_of(const struct conf_dbd *conf, char text[3][PASS_MAX_BYTES])
{
    const char *user = conf_dbd_str(conf, CONF_DBD_STORAGE_USER);
    const char *host = conf_dbd_str(conf, CONF_DBD_STORAGE_HOST);

    (void)snprintf(text[0], PASS_MAX_BYTES, "SLURM_STORAGE_HOSTNAME=%s", host ? host : "");
    (void)snprintf(text[1], PASS_MAX_BYTES, "SLURM_STORAGE_PORT=%llu",
                   (unsigned long long)conf_dbd_num(conf, CONF_DBD_STORAGE_PORT));
    (void)snprintf(text[2], PASS_MAX_BYTES, "SLURM_STORAGE_USER=%s", user ? user : "");
    return spawn_env("SLURM_STORAGE_", (char *[]){ text[0], text[1], text[2] }, 3);
}

static int run_program(const struct conf_dbd *conf, const char *path, char *buf, size_t size,
                       struct err *err)
{
    char text[3][PASS_MAX_BYTES];
    _cleanup_free_ char **envp = environment_of(conf, text);
    int fds[2], status = 0, r;
    pid_t pid;

    if (!envp)
        return -ENOMEM;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    r = spawn_program(&(struct spawn){ .path = path,
                                       .envp = envp,
                                       .fds = (const int[]){ -1, fds[1], STDERR_FILENO },
                                       .n_fds = 3 },
                      &pid);
    if (r < 0) {
        r = err_set(err, r, "StoragePassScript %s: %s", path, strerror(-r));
        (void)close(fds[0]);
        (void)close(fds[1]);
        return r;
    }
    (void)close(fds[1]);
    r = read_all(fds[0], buf, size);
    (void)close(fds[0]);
    if (r < 0)
        (void)kill(pid, SIGKILL); /* our child, not reaped yet */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r == -EMSGSIZE)
        return err_set(err, r, "StoragePassScript %s printed a line of more than %u bytes", path,
                       PASS_MAX_BYTES - 2);
    if (r < 0)
        return err_set(err, r, "StoragePassScript %s: %s", path, strerrordesc_np(-r));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return err_set(err, -EINVAL, "StoragePassScript %s failed (status %d)", path, status);
    return 0;
}

int dbd_password(const struct conf_dbd *conf, char **ret_pass, struct err *err)
{
    const char *script = conf_dbd_str(conf, CONF_DBD_STORAGE_PASS_SCRIPT);
    const char *pass = conf_dbd_str(conf, CONF_DBD_STORAGE_PASS);
    char line[PASS_MAX_BYTES];
    int r;

    *ret_pass = NULL;
    if (!script) {
        *ret_pass = pass ? strdup(pass) : NULL;
        return pass && !*ret_pass ? -ENOMEM : 0;
    }
    r = run_program(conf, script, line, sizeof(line), err);
    if (r < 0)
        return r;
    line[strcspn(line, "\r\n")] = '\0';
    if (!line[0])
        return err_set(err, -EINVAL, "StoragePassScript %s printed no password", script);
    *ret_pass = strdup(strncmp(line, TOKEN, strlen(TOKEN)) == 0 ? line + strlen(TOKEN) : line);
    explicit_bzero(line, sizeof(line));
    return *ret_pass ? 0 : -ENOMEM;
}
