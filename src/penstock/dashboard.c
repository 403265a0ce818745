/* dashboard.c - the private cluster's dashboard; see dashboard.h
 *
 * slurmrestd stays in the foreground and knows no pid file, so what others do for themselves is
 * done here: a session of its own, run/slurmrestd.pid for procs.c, run/slurmrestd.port to find it
 * again. */
#include "penstock/dashboard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/client.h"
#include "wire/ops.h"

#define NAME "slurmrestd"
#define START_S 20
#define LOOK_MS 20 /* between two tries to connect */
#define CALL_MS 5000

static void run_path(const struct instance *in, const char *ending, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s/run/" NAME ".%s", in->dir, ending);
}

static uint16_t read_port(const struct instance *in)
{
    char path[INSTANCE_PATH_MAX + 32], text[32] = "";
    _cleanup_fclose_ FILE *f = NULL;
    uint64_t port = 0;

    run_path(in, "port", path, sizeof(path));
    f = fopen(path, "re");
    if (!f || !fgets(text, sizeof(text), f))
        return 0;
    text[strcspn(text, "\n")] = '\0';
    return parse_u64(text, 1, UINT16_MAX, &port) == 0 ? (uint16_t)port : 0;
}

static int write_number(const struct instance *in, const char *ending, long number, struct err *err)
{
    char path[INSTANCE_PATH_MAX + 32];
    FILE *f;
    bool ok;

    run_path(in, ending, path, sizeof(path));
    f = fopen(path, "we");
    ok = f && fprintf(f, "%ld\n", number) > 0;
    if (!f || fclose(f) != 0 || !ok)
        return err_set(err, -EIO, "cannot write %s", path);
    return 0;
}

static bool answers_at(uint16_t port)
{
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };

    return fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

static int wait_listening(pid_t pid, uint16_t port, struct err *err)
{
    int64_t deadline = now_mono_us() + START_S * USEC_PER_SEC;

    while (!answers_at(port)) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return err_set(err, -EREMOTEIO, NAME " did not start");
        if (now_mono_us() >= deadline) {
            (void)kill(pid, SIGKILL); /* our own child, not yet reaped */
            return err_set(err, -ETIMEDOUT, NAME " does not listen on port %u", port);
        }
        (void)poll(NULL, 0, LOOK_MS); /* between two questions; an early wake-up is harmless */
    }
    return 0;
}

/* It answers to tokens alone, so it may be the cluster's own user: nobody has rights by reaching
 * it. */
static int spawn_server(const struct instance *in, uint16_t port, pid_t *ret_pid, struct err *err)
{
    char exe[4096], address[64], log[INSTANCE_PATH_MAX + 32];
    char *argv[] = { exe,     (char *)"-f", (char *)in->conf, (char *)"-a", (char *)"rest_auth/jwt",
                     address, NULL };
    _cleanup_close_ int out_fd = -1;
    int r = program_find(NAME, exe, sizeof(exe), err);

    if (r < 0)
        return r;
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    (void)snprintf(log, sizeof(log), "%s/log/" NAME ".log", in->dir);
    out_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out_fd < 0)
        return err_set(err, -errno, "cannot write %s: %s", log, strerror(errno));
    if (setenv("SLURMRESTD_SECURITY", "disable_user_check", 1) < 0)
        return err_nomem(err);
    r = proc_start_apart(argv, out_fd, ret_pid);
    (void)unsetenv("SLURMRESTD_SECURITY"); /* cannot fail: a good name */
    return r < 0 ? err_set(err, r, NAME " did not start: %s", strerror(-r)) : 0;
}

static int start_server(const struct instance *in, uint16_t *ret_port, struct err *err)
{
    uint16_t port = read_port(in);
    pid_t pid = 0;
    int r = setup_free_port(&port, err);

    if (r == 0)
        r = spawn_server(in, port, &pid, err);
    if (r == 0)
        r = wait_listening(pid, port, err);
    if (r == 0)
        r = write_number(in, "pid", pid, err);
    if (r == 0)
        r = write_number(in, "port", port, err);
    if (r == 0)
        *ret_port = port;
    return r;
}

static bool is_server(const struct proc *p)
{
    return strcmp(p->name, NAME) == 0;
}

static bool runs_already(const struct instance *in)
{
    _cleanup_val_(procs_done) struct procs running = { 0 };

    if (procs_find(in, &running) < 0)
        return false;
    for (size_t i = 0; i < running.n; i++)
        if (is_server(&running.items[i]))
            return true;
    return false;
}

static int fetch_token(const struct conf *conf, char **ret, struct err *err)
{
    Pst__TokenRequest request = PST__TOKEN_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct client *client = NULL;
    int r = instance_connect(conf, CALL_MS, &client, err);

    if (r < 0)
        return r;
    request.has_lifespan_s = true;
    request.lifespan_s = DASHBOARD_TOKEN_S;
    r = client_call(client, OP_TOKEN, &request.base, &reply);
    if (r < 0) {
        err_set(err, r, "the controller makes no token: %s", client_strerror(client, r));
    } else {
        const Pst__TokenReply *answer = PB_AS(token_reply, reply);

        *ret = strdup(answer->token ? answer->token : "");
        r = *ret ? 0 : err_nomem(err);
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    client_free(client);
    return r;
}

int dashboard_up(const struct instance *in, const struct conf *conf, char **ret_address,
                 struct err *err)
{
    _cleanup_free_ char *token = NULL;
    uint16_t port = runs_already(in) ? read_port(in) : 0;
    int r;

    if (!conf_use_jwt(conf))
        return err_set(err, -ENOTSUP, "its slurm.conf has no AuthAltTypes=auth/jwt");
    r = fetch_token(conf, &token, err);
    if (r == 0 && !port)
        r = start_server(in, &port, err);
    if (r < 0)
        return r;
    if (asprintf(ret_address, "http://127.0.0.1:%u/ui/#token=%s", port, token) < 0)
        return err_nomem(err);
    return 0;
}

void dashboard_end(const struct procs *running)
{
    for (size_t i = 0; i < running->n; i++) {
        struct procs one = { &running->items[i], 1 };

        if (is_server(&running->items[i]))
            procs_signal(&one, SIGTERM);
    }
}
