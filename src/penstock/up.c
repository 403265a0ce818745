/* up.c - penstock up: make the folder, start the daemons, wait until every node is ready
 *
 * Runs twice without harm: daemons that run already are left alone, missing ones are started. */
#include "penstock/dashboard.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/client.h"

#define START_S 30 /* for a daemon to say that it listens */
#define READY_S 60 /* for every node to be idle */
#define ASK_MS 100 /* between questions to the controller */
#define CALL_MS 5000
#define DEFAULT_NODES 4u

struct up_options {
    const char *dir;
    uint32_t nodes, cpus; /* 0 = not given */
    uint32_t emulated;    /* further nodes, of one process */
};

static int parse_options(int argc, char **argv, struct up_options *o)
{
    static const struct option longs[] = { { "nodes", required_argument, NULL, 'n' },
                                           { "cpus", required_argument, NULL, 'c' },
                                           { "emulate", required_argument, NULL, 'e' },
                                           { "dir", required_argument, NULL, 'd' },
                                           { NULL, 0, NULL, 0 } };
    int c;

    while ((c = getopt_long(argc, argv, "n:c:d:e:", longs, NULL)) != -1) {
        uint64_t n = 0;

        switch (c) {
        case 'n':
            if (parse_u64(optarg, 1, SETUP_MAX_NODES, &n) < 0)
                return usage_error("--nodes: %s is not a number from 1 to %u", optarg,
                                   SETUP_MAX_NODES);
            o->nodes = (uint32_t)n;
            break;
        case 'c':
            if (parse_u64(optarg, 1, 1024, &n) < 0)
                return usage_error("--cpus: %s is not a number from 1 to 1024", optarg);
            o->cpus = (uint32_t)n;
            break;
        case 'e':
            if (parse_u64(optarg, 1, SETUP_MAX_EMULATED, &n) < 0)
                return usage_error("--emulate: %s is not a number from 1 to %u", optarg,
                                   SETUP_MAX_EMULATED);
            o->emulated = (uint32_t)n;
            break;
        case 'd':
            o->dir = optarg;
            break;
        default:
            return bad_option();
        }
    }
    if (optind < argc)
        return usage_error("unexpected argument: %s", argv[optind]);
    return STATUS_OK;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* What a daemon that failed to start had to say. */
static void show_start_log(const char *path)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    char line[1024];

    while (f && fgets(line, sizeof(line), f))
        (void)fputs(line, stderr);
}

static int open_start_log(const struct instance *in, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/log/start.log", in->dir);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
}

static bool is_running(const struct procs *running, const char *label)
{
    for (size_t i = 0; i < running->n; i++)
        if (strcmp(running->items[i].name, label) == 0)
            return true;
    return false;
}

static int start_controller(const struct instance *in, const struct procs *running, int out_fd,
                            struct err *err)
{
    char exe[4096];
    char *argv[] = { exe, (char *)"-f", (char *)in->conf, NULL };
    pid_t pid;
    int r = program_find("slurmctld", exe, sizeof(exe), err);

    if (r < 0 || is_running(running, "slurmctld"))
        return r;
    r = proc_start(argv, out_fd, &pid);
    if (r == 0)
        r = proc_finish(pid, now_mono_us() + START_S * USEC_PER_SEC);
    if (r < 0)
        return err_set(err, r, "slurmctld did not start%s",
                       r == -ETIMEDOUT ? ": it did not answer in time" : "");
    return 0;
}

/* The nodes that one process emulates, by the mark in their names. */
static bool is_emulated(const char *node)
{
    return strncmp(node, SETUP_EMULATED, strlen(SETUP_EMULATED)) == 0;
}

static bool has_state(const struct conf_node *n, const char *word)
{
    return n->state && strcasecmp(n->state, word) == 0;
}

/* Nodes of a cloud and of the future come when somebody else makes them. */
static bool comes_by_itself(const struct conf_node *n)
{
    return !has_state(n, "CLOUD") && !has_state(n, "FUTURE");
}

/* Is a slurmd of its own to be started for it?  External nodes have none. */
static bool needs_slurmd(const struct conf_node *n)
{
    return comes_by_itself(n) && !has_state(n, "EXTERNAL") && !is_emulated(n->name);
}

static int start_emulator(const struct instance *in, const struct conf *conf,
                          const struct procs *running, int out_fd, struct err *err)
{
    char exe[4096], pid_file[INSTANCE_PATH_MAX + 64], log[INSTANCE_PATH_MAX + 64], nodes[64];
    char *argv[] = { exe,
                     (char *)"-f",
                     (char *)in->conf,
                     (char *)"--nodes",
                     nodes,
                     (char *)"--pid-file",
                     pid_file,
                     (char *)"-L",
                     log,
                     NULL };
    unsigned n = 0;
    pid_t pid;
    int r;

    for (size_t i = 0; i < conf_nodes(conf); i++)
        n += is_emulated(conf_node(conf, i)->name);
    if (!n || is_running(running, "emulate"))
        return 0;
    (void)snprintf(nodes, sizeof(nodes), SETUP_EMULATED "[1-%u]", n);
    (void)snprintf(pid_file, sizeof(pid_file), "%s/run/emulate.pid", in->dir);
    (void)snprintf(log, sizeof(log), "%s/log/emulate.log", in->dir);
    r = program_find("penstock-emulate", exe, sizeof(exe), err);
    if (r < 0)
        return r;
    r = proc_start(argv, out_fd, &pid);
    if (r == 0)
        r = proc_finish(pid, now_mono_us() + START_S * USEC_PER_SEC);
    return r < 0 ? err_set(err, r, "penstock-emulate did not start") : 0;
}

static int start_nodes(const struct instance *in, const struct conf *conf,
                       const struct procs *running, int out_fd, struct err *err)
{
    char exe[4096];
    size_t n = conf_nodes(conf);
    _cleanup_free_ pid_t *pids = calloc(n ? n : 1, sizeof(*pids));
    int64_t deadline = now_mono_us() + START_S * USEC_PER_SEC;
    int r = program_find("slurmd", exe, sizeof(exe), err), first = 0;

    if (r < 0)
        return r;
    if (!pids)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const char *name = conf_node(conf, i)->name;
        char *argv[] = { exe, (char *)"-N", (char *)name, (char *)"-f", (char *)in->conf, NULL };
        char label[128];

        (void)snprintf(label, sizeof(label), "slurmd-%s", name);
        if (!needs_slurmd(conf_node(conf, i)) || is_running(running, label))
            continue;
        r = proc_start(argv, out_fd, &pids[i]);
        if (r < 0 && !first)
            first = err_set(err, r, "slurmd of %s did not start: %s", name, strerror(-r));
    }
    for (size_t i = 0; i < n; i++) {
        r = pids[i] ? proc_finish(pids[i], deadline) : 0;
        if (r < 0 && !first)
            first = err_set(err, r, "slurmd of %s did not start", conf_node(conf, i)->name);
    }
    return first;
}

static int start_all(const struct instance *in, const struct conf *conf, struct err *err)
{
    char log_path[INSTANCE_PATH_MAX + 32];
    _cleanup_val_(procs_done) struct procs running = { 0 };
    _cleanup_close_ int out_fd = open_start_log(in, log_path, sizeof(log_path));
    int r;

    if (out_fd < 0)
        return err_set(err, -errno, "cannot write %s: %s", log_path, strerror(errno));
    r = procs_find(in, &running);
    if (r < 0)
        return err_set(err, r, "cannot read %s/run: %s", in->dir, strerror(-r));
    r = start_controller(in, &running, out_fd, err);
    if (r == 0)
        r = start_nodes(in, conf, &running, out_fd, err);
    if (r == 0)
        r = start_emulator(in, conf, &running, out_fd, err);
    if (r < 0)
        show_start_log(log_path);
    return r;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int ask_daemon(const struct conf *conf, struct census *ret, struct err *err)
{
    struct client *client = NULL;
    int r = instance_connect(conf, CALL_MS, &client, err);

    if (r < 0)
        return r;
    r = instance_census(client, ret);
    if (r < 0)
        err_set(err, r, "%s", client_strerror(client, r));
    client_free(client);
    return r;
}

static int wait_ready(const struct conf *conf, struct err *err)
{
    int64_t deadline = now_mono_us() + READY_S * USEC_PER_SEC;
    uint32_t total = 0, shown = UINT32_MAX;

    for (size_t i = 0; i < conf_nodes(conf); i++)
        total += comes_by_itself(conf_node(conf, i));
    for (;;) {
        struct census sum = { 0 };
        int r = ask_daemon(conf, &sum, err);

        if (r == 0 && sum.nodes_ready != shown) {
            shown = sum.nodes_ready;
            say("%u of %u nodes are ready", shown, total);
        }
        if (r == 0 && sum.nodes_ready >= total)
            return 0;
        if (now_mono_us() >= deadline)
            return r < 0 ? r
                         : err_set(err, -ETIMEDOUT, "only %u of %u nodes came up within %d s",
                                   sum.nodes_ready, total, READY_S);
        (void)poll(NULL, 0, ASK_MS); /* between two questions; an early wake-up is harmless */
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool anything_runs(const struct instance *in)
{
    _cleanup_val_(procs_done) struct procs running = { 0 };

    return procs_find(in, &running) == 0 && running.n > 0;
}

static int prepare_instance(const struct instance *in, const struct up_options *o, struct err *err)
{
    struct setup s;
    int r;

    if (instance_exists(in) && !o->nodes && !o->cpus && !o->emulated)
        return 0; /* as it was */
    if (anything_runs(in))
        return err_set(err, -EBUSY, "the cluster in %s is running: `penstock down` comes first",
                       in->dir);
    r = setup_init(&s, o->nodes ? o->nodes : DEFAULT_NODES, o->cpus, err);
    if (r < 0)
        return r;
    s.emulated = o->emulated;
    r = setup_write(&s, in, err);
    setup_done(&s);
    return r;
}

/* "penstock" when the shell would find this very program, else its path. */
static const char *own_name(char *buf, size_t size)
{
    const char *path = getenv("PATH");
    char own[4096], candidate[4096 + 16], real[4096];

    if (program_find("penstock", own, sizeof(own), NULL) < 0)
        return "penstock";
    (void)snprintf(buf, size, "%s", own);
    while (path && *path) {
        size_t len = strcspn(path, ":");

        (void)snprintf(candidate, sizeof(candidate), "%.*s/penstock", (int)MIN(len, 4095u), path);
        if (access(candidate, X_OK) == 0)
            return realpath(candidate, real) && strcmp(real, own) == 0 ? "penstock" : buf;
        path += len;
        path += *path == ':';
    }
    return buf;
}

/* The cluster is up without it. */
static void print_dashboard(const struct conf *conf)
{
    _cleanup_free_ char *address = NULL;
    struct err err = { .text = "" };

    if (dashboard_up(conf, &address, &err) < 0)
        say("there is no dashboard: %s", err.text);
    else
        (void)printf(
            "Look at it in a browser (the address is good once, within a minute; `penstock ui`\n"
            "prints another):\n  %s\n\n",
            address);
}

static void print_usage(const struct instance *in, const struct conf *conf, const char *dir_option)
{
    char own[4096];
    const char *name = own_name(own, sizeof(own)), *flag = dir_option ? " --dir " : "",
               *dir = dir_option ? in->dir : "";

    (void)printf("A cluster of %zu nodes runs in %s.\n\n", conf_nodes(conf), in->dir);
    print_dashboard(conf);
    (void)printf("Make this shell's commands use it:\n"
                 "  eval \"$(%s env%s%s)\"\n"
                 "See its nodes, run a first job, see what waits and what ran:\n"
                 "  sinfo\n  sbatch --wrap hostname\n  squeue\n  sacct\n"
                 "Stop it:\n"
                 "  %s down%s%s\n",
                 name, flag, dir, name, flag, dir);
}

int cmd_up(int argc, char **argv)
{
    struct up_options o = { 0 };
    struct instance in;
    struct conf *conf = NULL;
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    int r = parse_options(argc, argv, &o);

    if (r)
        return r;
    if (instance_init(&in, o.dir, &err) < 0 || prepare_instance(&in, &o, &err) < 0)
        return say_error("%s", err.text);
    r = conf_load(in.conf, CONF_FULL, &conf, &problems, &err);
    if (r < 0)
        conf_report(stderr, &problems);
    conf_problems_done(&problems);
    if (r < 0)
        return say_error("%s", err.text);
    r = start_all(&in, conf, &err);
    if (r == 0)
        r = wait_ready(conf, &err);
    if (r == 0)
        print_usage(&in, conf, o.dir);
    else
        (void)say_error("%s; the logs are in %s/log", err.text, in.dir);
    conf_free(conf);
    return r == 0 ? STATUS_OK : STATUS_FAILED;
}
