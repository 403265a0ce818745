/* status.c - penstock status, ui, env, shell, demo and ping: small commands over an instance */
#include "penstock/dashboard.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api.pb-c.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "conf/conf.h"
#include "session/pingtext.h"
#include "wire/client.h"
#include "wire/ops.h"

#define CALL_MS 5000
#define PING_MS 2000 /* to each of several controllers */

/* Only --dir. */
static int parse_dir(int argc, char **argv, struct instance *in)
{
    static const struct option longs[] = { { "dir", required_argument, NULL, 'd' },
                                           { NULL, 0, NULL, 0 } };
    const char *dir = NULL;
    struct err err = { .text = "" };
    int c;

    while ((c = getopt_long(argc, argv, "d:", longs, NULL)) != -1) {
        if (c != 'd')
            return bad_option();
        dir = optarg;
    }
    if (optind < argc)
        return usage_error("unexpected argument: %s", argv[optind]);
    if (instance_init(in, dir, &err) < 0)
        return say_error("%s", err.text);
    return STATUS_OK;
}

int cmd_status(int argc, char **argv)
{
    _cleanup_val_(procs_done) struct procs running = { 0 };
    struct instance in;
    struct conf *conf = NULL;
    struct client *client = NULL;
    struct census sum = { 0 };
    struct err err = { .text = "" };
    int r = parse_dir(argc, argv, &in);

    if (r)
        return r;
    if (instance_load(&in, &conf, &err) < 0)
        return say_error("%s", err.text);
    if (procs_find(&in, &running) < 0)
        say("cannot read %s/run", in.dir); /* the controller is asked all the same */
    r = instance_connect(conf, CALL_MS, &client, &err);
    if (r == 0) {
        r = instance_census(client, &sum);
        if (r < 0)
            err_set(&err, r, "%s", client_strerror(client, r));
        client_free(client);
    }
    (void)printf("folder:     %s\n", in.dir);
    (void)printf("controller: %s, port %u\n", r == 0 ? "up" : "down", conf_ctld_port(conf));
    (void)printf("daemons:    %zu running\n", running.n);
    if (r == 0) {
        (void)printf("nodes:      %u of %u ready\n", sum.nodes_ready, sum.nodes);
        (void)printf("jobs:       %u running, %u pending, %u completing\n", sum.running,
                     sum.pending, sum.completing);
    }
    conf_free(conf);
    if (r < 0 && running.n)
        say("%s", err.text);
    return r == 0 ? STATUS_OK : STATUS_FAILED;
}

int cmd_ui(int argc, char **argv)
{
    struct instance in;
    struct conf *conf = NULL;
    _cleanup_free_ char *address = NULL;
    struct err err = { .text = "" };
    int r = parse_dir(argc, argv, &in);

    if (r)
        return r;
    if (instance_load(&in, &conf, &err) < 0)
        return say_error("%s", err.text);
    r = dashboard_up(conf, &address, &err);
    conf_free(conf);
    if (r < 0)
        return say_error("there is no dashboard: %s", err.text);
    (void)printf("%s\n", address);
    say("the address is good once, within a minute");
    return STATUS_OK;
}

/* Folders of the commands and daemons before the PATH we have. */
static int make_path(char **ret_path)
{
    static const char *const names[] = { "sbatch", "slurmctld", "slurmd", "penstock" };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const char *old = getenv("PATH");
    char folder[4096];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (program_folder(names[i], folder, sizeof(folder)) < 0 ||
            strstr(strbuf_str(&sb), folder)) /* bin and sbin serve two names each */
            continue;
        strbuf_addf(&sb, "%s%s", sb.len ? ":" : "", folder);
    }
    /* Once is enough, however often it is evaluated. */
    if (old && strncmp(old, strbuf_str(&sb), sb.len) == 0) {
        strbuf_reset(&sb);
        strbuf_add(&sb, old);
    } else {
        strbuf_addf(&sb, ":%s", old && *old ? old : "/usr/local/bin:/usr/bin:/bin");
    }
    return strbuf_detach(&sb, ret_path);
}

/* In single quotes for a shell. */
static void print_export(const char *name, const char *value)
{
    (void)printf("export %s='", name);
    for (const char *p = value; *p; p++)
        (void)(*p == '\'' ? fputs("'\\''", stdout) : putchar(*p));
    (void)puts("'");
}

int cmd_env(int argc, char **argv)
{
    struct instance in;
    _cleanup_free_ char *path = NULL;
    int r = parse_dir(argc, argv, &in);

    if (r)
        return r;
    if (!instance_exists(&in))
        return say_error("there is no cluster in %s: start one with `penstock up`", in.dir);
    if (make_path(&path) < 0)
        return say_nomem();
    print_export("SLURM_CONF", in.conf);
    print_export("PATH", path);
    return fflush(stdout) == 0 ? STATUS_OK : say_error("cannot write: %s", strerror(errno));
}

int cmd_shell(int argc, char **argv)
{
    struct instance in;
    _cleanup_free_ char *path = NULL;
    const char *shell = getenv("SHELL");
    int r = parse_dir(argc, argv, &in);

    if (r)
        return r;
    if (!instance_exists(&in))
        return say_error("there is no cluster in %s: start one with `penstock up`", in.dir);
    if (make_path(&path) < 0 || setenv("SLURM_CONF", in.conf, 1) < 0 || setenv("PATH", path, 1) < 0)
        return say_nomem();
    if (!shell || !*shell)
        shell = "/bin/sh";
    say("the commands of this shell use the cluster in %s; `exit` leaves it", in.dir);
    (void)execl(shell, shell, (char *)NULL);
    return say_error("cannot start %s: %s", shell, strerror(errno));
}

int cmd_demo(int argc, char **argv)
{
    char own[4096], script[4096];
    struct err err = { .text = "" };

    if (program_find("penstock", own, sizeof(own), &err) < 0 ||
        program_find("tour", script, sizeof(script), &err) < 0)
        return say_error("%s", err.text);
    if (setenv("PENSTOCK", own, 1) < 0)
        return say_nomem();
    argv[0] = script;
    (void)argc;
    (void)execv(script, argv);
    return say_error("cannot start %s: %s", script, strerror(errno));
}

/* With --hash: the lsn and the hash of the live state, to compare with `penstock journal hash`. */
/* What each controller says of itself; fails when none leads. */
static int ping_all(const struct conf *conf)
{
    Pst__PingRequest req = PST__PING_REQUEST__INIT;
    bool led = false;
    const char *host;

    for (size_t i = 0; (host = conf_ctld_host(conf, i, NULL)); i++) {
        _cleanup_val_(strbuf_done) struct strbuf said = STRBUF_INIT;
        struct client *client = NULL;
        ProtobufCMessage *reply = NULL;
        struct err err = { .text = "" };
        int r = instance_connect_host(conf, i, PING_MS, &client, &err);

        if (r >= 0)
            r = client_call(client, OP_PING, &req.base, &reply);
        if (r >= 0) {
            ping_text(PB_AS(ping_reply, reply), &said);
            led = led || !PB_AS(ping_reply, reply)->standby;
            protobuf_c_message_free_unpacked(reply, NULL);
        }
        (void)printf("%s: %s\n", host, r >= 0 ? strbuf_str(&said) : "does not answer");
        client_free(client);
    }
    return led ? STATUS_OK : STATUS_FAILED;
}

int cmd_ping(int argc, char **argv)
{
    static const struct option longs[] = { { "hash", no_argument, NULL, 'h' },
                                           { "conf", required_argument, NULL, 'f' },
                                           { "all", no_argument, NULL, 'a' },
                                           { NULL, 0, NULL, 0 } };
    const char *path = conf_default_path();
    bool all = false;
    Pst__PingRequest req = PST__PING_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct conf *conf = NULL;
    struct client *client = NULL;
    struct err err = { .text = "" };
    int c, r;

    while ((c = getopt_long(argc, argv, "haf:", longs, NULL)) != -1) {
        if (c == 'h')
            req.has_want_hash = req.want_hash = 1;
        else if (c == 'f')
            path = optarg;
        else if (c == 'a')
            all = true;
        else
            return bad_option();
    }
    if (optind < argc)
        return usage_error("unexpected argument: %s", argv[optind]);
    r = conf_load(path, CONF_CLIENT, &conf, NULL, &err);
    if (r == 0 && all) {
        r = ping_all(conf);
        conf_free(conf);
        return r;
    }
    if (r == 0)
        r = instance_connect(conf, CALL_MS, &client, &err);
    conf_free(conf);
    if (r < 0)
        return say_error("%s", err.text);
    r = client_call(client, OP_PING, &req.base, &reply);
    if (r < 0) {
        (void)say_error("%s", client_strerror(client, r));
    } else {
        const Pst__PingReply *ping = PB_AS(ping_reply, reply);

        (void)printf("lsn %" PRIu64, ping->lsn);
        if (ping->has_state_hash)
            (void)printf(" hash %016" PRIx64, ping->state_hash);
        (void)printf("\n");
        protobuf_c_message_free_unpacked(reply, NULL);
    }
    client_free(client);
    return r < 0 ? STATUS_FAILED : STATUS_OK;
}
