/* emulate.c - penstock-emulate: many nodes in one process, so that a controller meets many
 *
 * Each node speaks slurmd's protocol over a connection of its own.  Batch scripts are timers
 * (emscript.h); nothing of a user is run, so nobody's rights matter.  srun, sattach and sbcast find
 * no node here.  One thread, but for libuv's, which prove identities. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/process/daemonize.h"
#include "base/process/inherit.h"
#include "base/timefmt.h"
#include "daemon/daemon.h"
#include "emulate/emnode.h"

static const char usage[] =
    "Usage: penstock-emulate [OPTIONS]\n"
    "   -D                         Run in the foreground.\n"
    "   -f <file>                  Read the configuration from the file.\n"
    "   -h                         Print this help and exit.\n"
    "   -L <file>                  Log to the file.\n"
    "   --nodes <list>             Be these nodes of the configuration; all without it.\n"
    "   --pid-file <file>          Write the number of the process to the file.\n"
    "   -v                         Log more; repeat for even more.\n"
    "   -V                         Print the version and exit.\n";

enum { OPT_NODES = 256, OPT_PID_FILE };

static const struct option longs[] = {
    { "nodes", required_argument, NULL, OPT_NODES },
    { "pid-file", required_argument, NULL, OPT_PID_FILE },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { NULL, 0, NULL, 0 },
};

struct emulator {
    struct daemon_options o;
    const char *nodes, *pid_file; /* options; NULL: not given */
    struct conf *conf;
    uv_loop_t loop;
    uv_signal_t signals[2];
    struct emhost host;
    struct emnode **all;
    size_t n;
    bool ended, told_all, has_pid_file;
};

static enum daemon_taken take_option(void *ctx, int c, const char *arg)
{
    struct emulator *e = ctx;

    if (c == OPT_NODES)
        e->nodes = arg;
    else if (c == OPT_PID_FILE)
        e->pid_file = arg;
    else
        return DAEMON_SHARED;
    return DAEMON_GO_ON;
}

static const struct daemon_head head = {
    .name = "penstock-emulate",
    .usage = usage,
    .shorts = "Df:hL:vV",
    .longs = longs,
    .unexpected = "penstock-emulate: unexpected argument: ",
    .usage_after = true,
    .take_own = take_option,
};

/* ---- configuration --------------------------------------------------------------------------- */

static void describe_host(struct emhost *h)
{
    struct utsname un;

    if (uname(&un) == 0) {
        (void)snprintf(h->name, sizeof(h->name), "%s", un.nodename);
        (void)snprintf(h->arch, sizeof(h->arch), "%s", un.machine);
        (void)snprintf(h->os, sizeof(h->os), "%s %s emulated", un.sysname, un.release);
    }
    h->boot_us = now_us();
    (void)snprintf(h->boot_id, sizeof(h->boot_id), "emulated-%lld", (long long)h->boot_us);
}

static int read_configuration(void *ctx, struct err *err)
{
    struct emulator *e = ctx;
    _cleanup_free_ char *path = NULL;
    struct conf_problems problems = { 0 };
    int r = daemon_conf_file(e->o.conf_path ? e->o.conf_path : conf_default_path(), &path, err);

    if (r < 0)
        return r;
    r = conf_load(path, CONF_FULL, &e->conf, &problems, err);
    if (r < 0)
        conf_report(stderr, &problems);
    conf_problems_done(&problems);
    if (r < 0)
        return r;
    if (conf_nodes(e->conf) == 0)
        return err_set(err, -ENOENT, "%s names no node", path);
    if (strcmp(conf_str(e->conf, CONF_TLS_TYPE), "tls/none") != 0)
        return err_set(err, -EOPNOTSUPP, "emulated nodes speak no TLS, and %s has TLSType=%s", path,
                       conf_str(e->conf, CONF_TLS_TYPE));
    return 0;
}

static uid_t user_to_be(void *ctx)
{
    const struct emulator *e = ctx;

    return conf_slurmd_uid(e->conf);
}

static void open_log(void *ctx)
{
    struct emulator *e = ctx;

    daemon_open_log(&head, &e->o, e->o.log_path, daemon_log_level(NULL, e->o.verbose), "/tmp");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Without nodes and signals the loop has nothing to wait for. */
static void end_loop(struct emulator *e)
{
    for (size_t i = 0; i < ARRAY_SIZE(e->signals) && !e->ended; i++)
        uv_close((uv_handle_t *)&e->signals[i], NULL);
    e->ended = true;
}

static void on_changed(struct emhost *h)
{
    struct emulator *e = container_of(h, struct emulator, host);

    if (h->n_registered == e->n && !e->told_all && !e->ended)
        log_info("all %zu nodes are registered", e->n);
    e->told_all = h->n_registered == e->n;
    if (h->n_left == 0) /* a signal closed them, or `scontrol shutdown` told every one */
        end_loop(e);
}

static int add_node(struct emulator *e, const struct conf_node *described, struct err *err)
{
    int r = emnode_new(&e->host, described, &e->all[e->n]);

    if (r < 0)
        return err_set(err, r, "node %s cannot be made: %s", described->name, strerror(-r));
    e->n++;
    return 0;
}

static int add_named(struct emulator *e, struct err *err)
{
    _cleanup_(hostlist_free) struct hostlist *list = NULL;
    struct err why = { .text = "" };
    int r = hostlist_parse_most(e->nodes, conf_nodes(e->conf), &list, &why);
    size_t n = r == 0 ? hostlist_count(list) : 0;

    if (r < 0)
        return err_set(err, r, "--nodes=%s: %s", e->nodes, why.text);
    hostlist_uniq(list);
    if (hostlist_count(list) < n)
        return err_set(err, -EEXIST, "--nodes=%s names a node twice", e->nodes);
    for (size_t i = 0; r == 0 && i < n; i++) {
        const char *name = hostlist_nth(list, i);
        const struct conf_node *described = conf_find_node(e->conf, name);

        r = described ? add_node(e, described, err)
                      : err_set(err, -ENOENT, "--nodes: the configuration has no node %s", name);
    }
    return r;
}

static int add_nodes(struct emulator *e, struct err *err)
{
    int r = 0;

    e->all = calloc(conf_nodes(e->conf), sizeof(struct emnode *));
    if (!e->all)
        return err_nomem(err);
    if (e->nodes)
        return add_named(e, err);
    for (size_t i = 0; r == 0 && i < conf_nodes(e->conf); i++)
        r = add_node(e, conf_node(e->conf, i), err);
    return r;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void close_nodes(struct emulator *e)
{
    for (size_t i = 0; i < e->n; i++)
        emnode_close(e->all[i]);
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    close_nodes(handle->data);
}

static int serve_controller(void *ctx, int ready_fd, struct err *err)
{
    static const int signums[] = { SIGTERM, SIGINT };
    struct emulator *e = ctx;
    int r = uv_loop_init(&e->loop);

    if (r < 0)
        return err_set(err, r, "libuv: %s", uv_strerror(r));
    e->host = (struct emhost){ .loop = &e->loop, .conf = e->conf, .changed = on_changed };
    describe_host(&e->host);
    emhost_init(&e->host);
    (void)signal(SIGPIPE, SIG_IGN); /* cannot fail, nor the next */
    (void)signal(SIGHUP, SIG_IGN);
    for (size_t i = 0; i < ARRAY_SIZE(signums); i++) {
        (void)uv_signal_init(&e->loop, &e->signals[i]); /* these cannot fail */
        e->signals[i].data = e;
        (void)uv_signal_start(&e->signals[i], on_signal, signums[i]);
    }
    r = add_nodes(e, err);
    if (r < 0) {
        close_nodes(e);
        end_loop(e);
    } else {
        for (size_t i = 0; i < e->n; i++)
            emnode_start(e->all[i]);
        if (e->pid_file)
            daemonize_pid_file(e->pid_file);
        e->has_pid_file = e->pid_file != NULL;
        daemonize_serve(ready_fd);
    }
    (void)uv_run(&e->loop, UV_RUN_DEFAULT);
    return r;
}

static void release_nodes(void *ctx)
{
    struct emulator *e = ctx;

    for (size_t i = 0; i < e->n; i++)
        e->all[i] = emnode_free(e->all[i]);
    free(e->all);
    if (e->has_pid_file)
        daemonize_pid_remove(e->pid_file); /* it may not have been written */
    conf_free(e->conf);
}

static const struct daemon_life life = { .configure = read_configuration,
                                         .user = user_to_be,
                                         .open_log = open_log,
                                         .serve = serve_controller,
                                         .release = release_nodes };

int main(int argc, char **argv)
{
    struct emulator e = { .pid_file = NULL };
    int r;

    inherit_begin(3);
    r = daemon_parse_options(&head, argc, argv, &e.o, &e);
    if (r >= 0)
        return r;
    daemon_begin(&head, &e.o);
    return daemon_live(&head, &life, &e.o, &e);
}
