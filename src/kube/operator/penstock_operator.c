/* penstock_operator.c - penstock-operator: clusters in pods of Kubernetes
 *
 * One thread. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/inherit.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubeprogram.h"
#include "kube/operator/operator.h"
#include "kube/operator/opkinds.h"
#include "version.h"

#define ASK_US USEC_PER_SEC
#define ASK_AGAIN_US (30 * USEC_PER_SEC)

struct program {
    struct kubeprogram k;
    struct operator_options o;
    json_t *conditions;
    struct operator_ *operator_;
    unsigned asked; /* groups that the server has answered about */
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
            p->k.kubeconfig = optarg;
            break;
        case 'c':
            p->k.context = optarg;
            break;
        case 'l':
            p->k.lease_namespace = optarg;
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

/* ---- the way to the operator ----------------------------------------------------------------- */

static void begin_operator(struct program *p)
{
    if (operator_new(p->k.kube, &p->o, &p->operator_) < 0) {
        log_error("out of memory");
        kubeprogram_fail(&p->k);
        return;
    }
    p->k.begun = true;
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
        kubeprogram_again(&p->k, ASK_US);
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
        kubeprogram_again(&p->k, ASK_AGAIN_US);
        return;
    }
    kubeprogram_again(&p->k, 0);
}

static void ask_groups(void *ctx)
{
    struct program *p = ctx;

    if (kubeapi_discover(p->k.kube, opgroups[p->asked].name, "v1beta1", take_group, p) < 0)
        kubeprogram_again(&p->k, ASK_US);
}

static void end_program(struct program *p)
{
    if (p->operator_)
        operator_stop(p->operator_);
    kubeprogram_hang_up(&p->k);
    p->operator_ = operator_free(p->operator_);
    kubeprogram_end(&p->k);
    json_decref(p->conditions);
}

int main(int argc, char **argv)
{
    struct program p = { .k = { .name = "penstock-operator",
                                .agent = "penstock-operator/" PENSTOCK_VERSION,
                                .ask = ask_groups,
                                .ctx = &p,
                                .signals = -1 },
                         .o = { .slurm_user = "slurm" } };
    struct err err = { .text = "" };
    int r;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* what fails says so at the first request */
    r = kubeprogram_load(&p.k, &err);
    if (r == 0)
        r = kubeprogram_begin(&p.k, &err);
    if (r < 0)
        log_fatal("%s", err.text);
    else
        r = kubeprogram_run(&p.k);
    end_program(&p);
    curl_global_cleanup();
    return r < 0 || p.k.lost;
}
