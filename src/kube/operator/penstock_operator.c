/* penstock_operator.c - penstock-operator: clusters in pods of Kubernetes
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
#include "base/timefmt.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubelease.h"
#include "kube/operator/operator.h"
#include "kube/operator/opkinds.h"
#include "version.h"

#define LEASE "penstock-operator"
#define ASK_US USEC_PER_SEC
#define ASK_AGAIN_US (30 * USEC_PER_SEC)

struct program {
    const char *kubeconfig, *context, *lease_namespace;
    struct operator_options o;
    json_t *conditions;
    struct kubeconfig kube_config;
    struct kubeloop *loop;
    struct kubeserver *kube;
    struct kubelease *lease;
    struct operator_ *operator_;
    struct kubetimer ask;
    unsigned asked; /* groups that the server has answered about */
    char identity[128];
    int signals;
    bool ended, lost;
};

static const char usage[] =
    "Usage: penstock-operator [OPTIONS]\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "  -n, --namespace=NAME   serve the objects of this namespace alone\n"
    "  -i, --image=IMAGE      of containers that name none\n"
    "  -l, --lease=NAMESPACE  act only while the lease penstock-operator there is held\n"
    "      --propagated-node-conditions=TYPE,...\n"
    "                         conditions of nodes that are reasons of a drain\n"
    "      --rest-url=URL     slurmrestd of every Controller, instead of its RestApi's Service\n"
    "      --slurm-user=NAME  of the operator's own tokens (slurm)\n"
    "  -v, --verbose          say more; twice: still more\n"
    "  -V, --version\n"
    "  -h, --help\n";

/* The words of a list with commas. */
static json_t *split_words(const char *text)
{
    json_t *list = json_array();

    while (*text) {
        size_t n = strcspn(text, ",");

        if (n)
            (void)json_array_append_new(list, json_stringn(text, n));
        text += n + (text[n] == ',');
    }
    return list;
}

static int read_options(struct program *p, int argc, char **argv)
{
    static const struct option longs[] = {
        { "kubeconfig", required_argument, NULL, 'k' },
        { "context", required_argument, NULL, 'c' },
        { "namespace", required_argument, NULL, 'n' },
        { "image", required_argument, NULL, 'i' },
        { "lease", required_argument, NULL, 'l' },
        { "propagated-node-conditions", required_argument, NULL, 'p' },
        { "rest-url", required_argument, NULL, 'r' },
        { "slurm-user", required_argument, NULL, 'u' },
        { "verbose", no_argument, NULL, 'v' },
        { "version", no_argument, NULL, 'V' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    enum log_level level = LOG_INFO;
    int c;

    while ((c = getopt_long(argc, argv, "k:n:i:l:vVh", longs, NULL)) >= 0)
        switch (c) {
        case 'n':
            p->o.namespace_ = optarg;
            break;
        case 'i':
            p->o.image = optarg;
            break;
        case 'p':
            json_decref(p->conditions);
            p->o.node_conditions = p->conditions = split_words(optarg);
            break;
        case 'u':
            p->o.slurm_user = optarg;
            break;
        case 'r':
            p->o.rest_url = optarg;
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
            (void)printf("penstock-operator %s\n", PENSTOCK_VERSION);
            return 0;
        case 'h':
            (void)fputs(usage, stdout);
            return 0;
        default:
            (void)fputs(usage, stderr);
            return 2;
        }
    if (optind < argc) {
        (void)fprintf(stderr, "penstock-operator: unexpected argument: %s\n%s", argv[optind],
                      usage);
        return 2;
    }
    (void)log_open("penstock-operator", NULL, level, false); /* standard error is always there */
    return -1;
}

static int read_files(struct program *p, struct err *err)
{
    const char *path = p->kubeconfig ? p->kubeconfig : getenv("KUBECONFIG");

    if (path && *path)
        return kubeconfig_load(path, p->context, &p->kube_config, err);
    return kubeconfig_in_cluster(NULL, getenv("KUBERNETES_SERVICE_HOST"),
                                 getenv("KUBERNETES_SERVICE_PORT"), &p->kube_config, err);
}

/* ---- the way to the operator ----------------------------------------------------------------- */

static void begin_operator(struct program *p)
{
    if (operator_new(p->kube, &p->o, &p->operator_) < 0) {
        log_error("out of memory");
        p->ended = p->lost = true;
        return;
    }
    for (size_t g = 0; g < OPGROUPS; g++)
        if (p->o.groups[g])
            log_info("objects of %s are served", opgroups[g].name);
}

/* Does the server have every kind of the group? */
static void take_group(void *ctx, const struct kubereply *reply)
{
    struct program *p = ctx;
    bool all = reply->status == 200;

    for (size_t k = 0; k < OPKIND_MAX_; k++)
        all = all && kubeapi_serves(reply->body, &opgroups[p->asked].kinds[k]);
    if (reply->status != 200 && reply->status != 404) {
        log_seldom(LOG_ERROR, "the API server: %d %s", reply->status, reply->text);
        kubeloop_arm(p->loop, &p->ask, now_mono_us() + ASK_US);
        return;
    }
    p->o.groups[p->asked++] = all;
    if (p->asked == OPGROUPS && (p->o.groups[0] || p->o.groups[1])) {
        begin_operator(p);
        return;
    }
    if (p->asked == OPGROUPS) {
        log_seldom(LOG_ERROR,
                   "the API server has the kinds of neither %s nor %s: install "
                   "deploy/kubernetes/crds.yaml",
                   opgroups[0].name, opgroups[1].name);
        p->asked = 0;
        kubeloop_arm(p->loop, &p->ask, now_mono_us() + ASK_AGAIN_US);
        return;
    }
    kubeloop_arm(p->loop, &p->ask, now_mono_us());
}

static void ask_groups(void *ctx)
{
    struct program *p = ctx;

    if (kubeapi_discover(p->kube, opgroups[p->asked].name, "v1beta1", take_group, p) < 0)
        kubeloop_arm(p->loop, &p->ask, now_mono_us() + ASK_US);
}

static void take_role(void *ctx, bool held)
{
    struct program *p = ctx;

    if (held && !p->operator_)
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
    const struct kubeserver_options kube = { "penstock-operator/" PENSTOCK_VERSION, NULL, 200, 400,
                                             0 };
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
        kubeserver_new(p->loop, &p->kube_config, &kube, &p->kube) < 0)
        return err_nomem(err);
    if (!p->lease_namespace)
        kubeloop_arm(p->loop, &p->ask, now_mono_us());
    else if (kubelease_new(p->kube, &lease, &p->lease) < 0)
        return err_nomem(err);
    return 0;
}

static void end_program(struct program *p)
{
    if (p->operator_)
        operator_stop(p->operator_);
    p->kube = kubeserver_free(p->kube);
    p->operator_ = operator_free(p->operator_);
    p->lease = kubelease_free(p->lease);
    if (p->loop)
        kubeloop_disarm(p->loop, &p->ask);
    p->loop = kubeloop_free(p->loop);
    kubeconfig_done(&p->kube_config);
    json_decref(p->conditions);
    if (p->signals >= 0)
        (void)close(p->signals);
}

int main(int argc, char **argv)
{
    struct program p = { .o = { .slurm_user = "slurm" }, .signals = -1 };
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
