/* penstock_bridge.c - penstock-bridge: pods of Kubernetes, placed by the cluster's scheduler
 *
 * One thread. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/inherit.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubelease.h"
#include "kube/bridge/bridge.h"
#include "kube/bridge/bridgeconf.h"
#include "version.h"

#define CONF_MAX (64u << 10)
#define TOKEN_FILE "/var/run/secrets/slurm/auth-token"
#define LEASE "penstock-bridge"

struct program {
    const char *conf_path, *kubeconfig, *context, *lease_namespace;
    struct bridgeconf conf;
    struct kubeconfig kube_config, slurm_config;
    struct kubeloop *loop;
    struct kubeserver *kube, *slurm;
    struct kubelease *lease;
    struct bridge *bridge;
    struct kubetimer ask;
    char identity[128];
    int signals;
    bool ended, lost;
};

static const char usage[] =
    "Usage: penstock-bridge [OPTIONS]\n"
    "  -f, --config=FILE      schedulerName, slurmRestApi, partition, mcsLabel\n"
    "                         (/etc/slurm-bridge/config.yaml)\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "  -l, --lease=NAMESPACE  act only while the lease penstock-bridge there is held\n"
    "  -v, --verbose          say more; twice: still more\n"
    "  -V, --version\n"
    "  -h, --help\n"
    "SLURM_JWT_FILE names the file of the token for slurmrestd.\n";

static int read_options(struct program *p, int argc, char **argv)
{
    static const struct option longs[] = {
        { "config", required_argument, NULL, 'f' },  { "kubeconfig", required_argument, NULL, 'k' },
        { "context", required_argument, NULL, 'c' }, { "lease", required_argument, NULL, 'l' },
        { "verbose", no_argument, NULL, 'v' },       { "version", no_argument, NULL, 'V' },
        { "help", no_argument, NULL, 'h' },          { NULL, 0, NULL, 0 },
    };
    enum log_level level = LOG_INFO;
    int c;

    while ((c = getopt_long(argc, argv, "f:k:l:vVh", longs, NULL)) >= 0)
        switch (c) {
        case 'f':
            p->conf_path = optarg;
            break;
        case 'k':
            p->kubeconfig = optarg;
            break;
        case 'c':
            p->context = optarg;
            break;
        case 'l':
            p->lease_namespace = optarg;
            break;
        case 'v':
            level = level < LOG_DEBUG ? level + 1 : level;
            break;
        case 'V':
            (void)printf("penstock-bridge %s\n", PENSTOCK_VERSION);
            return 0;
        case 'h':
            (void)fputs(usage, stdout);
            return 0;
        default:
            (void)fputs(usage, stderr);
            return 2;
        }
    if (optind < argc) {
        (void)fprintf(stderr, "penstock-bridge: unexpected argument: %s\n%s", argv[optind], usage);
        return 2;
    }
    (void)log_open("penstock-bridge", NULL, level, false); /* standard error is always there */
    return -1;
}

static int read_files(struct program *p, struct err *err)
{
    const char *token = getenv("SLURM_JWT_FILE"), *path = getenv("KUBECONFIG");
    _cleanup_free_ char *text = NULL;
    size_t len;
    int r = readfile(p->conf_path, CONF_MAX, &text, &len);

    if (r < 0)
        return err_set(err, r, "%.200s: %s", p->conf_path, strerror(-r));
    r = bridgeconf_parse(text, len, &p->conf, err);
    if (r < 0) {
        err_prefix(err, "%.200s: ", p->conf_path);
        return r;
    }
    p->slurm_config.server = strdup(p->conf.rest);
    p->slurm_config.token_file = strdup(token && *token ? token : TOKEN_FILE);
    if (!p->slurm_config.server || !p->slurm_config.token_file)
        return err_nomem(err);
    path = p->kubeconfig ? p->kubeconfig : path;
    if (path && *path)
        return kubeconfig_load(path, p->context, &p->kube_config, err);
    return kubeconfig_in_cluster(NULL, getenv("KUBERNETES_SERVICE_HOST"),
                                 getenv("KUBERNETES_SERVICE_PORT"), &p->kube_config, err);
}

/* ---- the way to the bridge ------------------------------------------------------------------- */

static void begin_bridge(struct program *p, bool groups)
{
    const struct bridge_options o = { p->conf.scheduler, p->conf.partition, p->conf.mcs, groups };

    if (bridge_new(p->kube, p->slurm, &o, &p->bridge) < 0) {
        log_error("out of memory");
        p->ended = p->lost = true;
        return;
    }
    log_info("pods of scheduler %s are placed by %s", p->conf.scheduler, p->conf.rest);
}

static void take_groups(void *ctx, const struct kubereply *reply)
{
    static const struct kubekind podgroups = { "", "", "podgroups", "PodGroup", true };
    struct program *p = ctx;

    if (reply->status == 200 || reply->status == 404) {
        begin_bridge(p, reply->status == 200 && kubeapi_serves(reply->body, &podgroups));
        return;
    }
    log_seldom(LOG_ERROR, "the API server: %d %s", reply->status, reply->text);
    kubeloop_arm(p->loop, &p->ask, now_mono_us() + USEC_PER_SEC);
}

/* Does the server know PodGroups?  Only its answer counts. */
static void ask_groups(void *ctx)
{
    struct program *p = ctx;

    if (kubeapi_discover(p->kube, "scheduling.x-k8s.io", "v1alpha1", take_groups, p) < 0)
        kubeloop_arm(p->loop, &p->ask, now_mono_us() + USEC_PER_SEC);
}

static void take_role(void *ctx, bool held)
{
    struct program *p = ctx;

    if (held && !p->bridge)
        kubeloop_arm(p->loop, &p->ask, now_mono_us());
    else if (!held)
        p->ended = p->lost = true; /* what was begun as the leader must not go on */
}

static void take_signal(void *ctx)
{
    struct program *p = ctx;
    struct signalfd_siginfo info;

    if (read(p->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        p->ended = true;
}

static int begin_program(struct program *p, struct err *err)
{
    const struct kubeserver_options kube = { "penstock-bridge/" PENSTOCK_VERSION, NULL, 200, 400,
                                             0 };
    const struct kubeserver_options slurm = { "penstock-bridge/" PENSTOCK_VERSION,
                                              "X-SLURM-USER-TOKEN", 0, 0, 16 };
    const struct kubelease_options lease = {
        p->lease_namespace, LEASE, p->identity, 0, take_role, p
    };
    char host[64] = "";
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(p->identity, sizeof(p->identity), "%s_%d_%lld", host, (int)getpid(),
                   (long long)now_us());
    p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (p->signals < 0)
        return err_set(err, -errno, "signalfd: %s", strerror(errno));
    p->ask = (struct kubetimer){ .fn = ask_groups, .ctx = p };
    if (kubeloop_new(&p->loop) < 0 || kubeloop_watch_fd(p->loop, p->signals, take_signal, p) < 0 ||
        kubeserver_new(p->loop, &p->kube_config, &kube, &p->kube) < 0 ||
        kubeserver_new(p->loop, &p->slurm_config, &slurm, &p->slurm) < 0)
        return err_nomem(err);
    if (!p->lease_namespace)
        kubeloop_arm(p->loop, &p->ask, now_mono_us());
    else if (kubelease_new(p->kube, &lease, &p->lease) < 0)
        return err_nomem(err);
    return 0;
}

static void end_program(struct program *p)
{
    if (p->bridge)
        bridge_stop(p->bridge);
    p->kube = kubeserver_free(p->kube);
    p->slurm = kubeserver_free(p->slurm);
    p->bridge = bridge_free(p->bridge);
    p->lease = kubelease_free(p->lease);
    if (p->loop)
        kubeloop_disarm(p->loop, &p->ask);
    p->loop = kubeloop_free(p->loop);
    kubeconfig_done(&p->kube_config);
    kubeconfig_done(&p->slurm_config);
    bridgeconf_done(&p->conf);
    if (p->signals >= 0)
        (void)close(p->signals);
}

int main(int argc, char **argv)
{
    struct program p = { .conf_path = "/etc/slurm-bridge/config.yaml", .signals = -1 };
    struct err err = { .text = "" };
    int r;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* what fails says so at the first request */
    r = read_files(&p, &err);
    if (r == 0)
        r = begin_program(&p, &err);
    if (r < 0)
        log_fatal("%s", err.text);
    while (r == 0 && !p.ended)
        r = kubeloop_turn(p.loop, 1000);
    end_program(&p);
    curl_global_cleanup();
    return r < 0 || p.lost;
}
