/* penstock_operator.c - penstock-operator: clusters in pods of Kubernetes
 *
 * One thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/inherit.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubeoptions.h"
#include "kube/operator/operator.h"
#include "kube/make/opkinds.h"
#include "version.h"

#define ASK_US USEC_PER_SEC
#define PATIENCE_MOST_S 86400
#define ASK_AGAIN_US (30 * USEC_PER_SEC)

struct program {
    struct kubeprogram k;
    struct operator_options o;
    json_t *conditions;
    char *namespaces;
    struct operator_ *operator_;
    unsigned asked; /* groups that the server has answered about */
};

static const char usage[] =
    "Usage: penstock-operator [OPTIONS]\n"
    "  -k, --kubeconfig=FILE  of the API server; without it KUBECONFIG, then what a pod has\n"
    "      --context=NAME     of the kubeconfig\n"
    "  -n, --namespaces=NAME,...\n"
    "                         serve the objects of these namespaces alone\n"
    "  -i, --image=IMAGE      of containers that name none\n"
    "  -l, --lease=NAMESPACE  act only while the lease penstock-operator there is held\n"
    "      --propagated-node-conditions=TYPE,...\n"
    "                         conditions of nodes that are reasons of a drain\n"
    "      --patience=SECONDS what takes longer is told as overdue, 1 to 86400 (600)\n"
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

/* Names with commas and blanks, each once; none: all namespaces, as without the option.  -1: go
 * on. */
static int read_namespaces(struct program *p, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf all = STRBUF_INIT;
    _cleanup_json_ json_t *seen = json_object();

    for (text += strspn(text, ", "); *text; text += strspn(text, ", ")) {
        size_t n = strcspn(text, ", ");
        _cleanup_free_ char *name = strndup(text, n);

        if (name && !kubeoptions_check_name(&p->k, "namespaces", name))
            return KUBEOPTIONS_WRONG;
        if (name && !json_object_get(seen, name))
            strbuf_addf(&all, "%s%s", all.len ? "," : "", name);
        if (!name || json_object_set_new(seen, name, json_true()) < 0)
            all.failed = true;
        text += n;
    }
    if (all.len)
        p->namespaces = strdup(strbuf_str(&all));
    if (all.failed || (all.len && !p->namespaces)) {
        (void)fprintf(stderr, "penstock-operator: " ERR_NOMEM "\n");
        return KUBEOPTIONS_WRONG;
    }
    p->o.namespace_ = p->namespaces;
    return -1;
}

static int read_options(struct program *p, int argc, char **argv)
{
    const char *conditions = NULL, *patience = NULL, *namespaces = NULL;
    uint64_t seconds = 0;
    const struct kubeoption own[] = {
        { "namespaces", 'n', &namespaces, NULL }, /* or --namespace: its beginning */
        { "image", 'i', &p->o.image, NULL },
        { "lease", 'l', &p->k.lease_namespace, NULL },
        { "propagated-node-conditions", '\0', &conditions, NULL },
        { "patience", '\0', &patience, NULL },
        { "rest-url", '\0', &p->o.rest_url, NULL },
        { "slurm-user", '\0', &p->o.slurm_user, NULL },
    };
    int r = kubeoptions_read(&p->k, usage, own, ARRAY_SIZE(own), false, LOG_INFO, argc, argv);

    if (r < 0 && patience && parse_u64(patience, 1, PATIENCE_MOST_S, &seconds) < 0) {
        (void)fprintf(stderr, "penstock-operator: --patience: '%.40s' is no number of 1 to %d\n",
                      patience, PATIENCE_MOST_S);
        return KUBEOPTIONS_WRONG;
    }
    p->o.patience_s = (int64_t)seconds;
    if (r < 0 && namespaces)
        r = read_namespaces(p, namespaces);
    if (r < 0 && conditions)
        p->o.node_conditions = p->conditions = split_words(conditions);
    return r;
}

/* ---- the way to the operator ----------------------------------------------------------------- */

static void begin_operator(struct program *p)
{
    if (operator_new(p->k.kube, &p->o, &p->operator_) < 0) {
        log_error("%s", ERR_NOMEM);
        kubeprogram_fail(&p->k);
        return;
    }
    p->k.begun = true;
    for (size_t g = 0; g < OPGROUPS; g++)
        if (p->o.groups[g])
            log_info("objects of %s are served", opgroups[g].name);
}

static void take_monitors(void *ctx, const struct kubereply *reply)
{
    struct program *p = ctx;

    if (reply->status != 200 && reply->status != 404) {
        log_seldom(LOG_ERROR, "the API server: %d %s", reply->status, reply->text);
        p->asked = 0;
        kubeprogram_again(&p->k, ASK_US);
        return;
    }
    p->o.monitors =
        reply->status == 200 && kubeapi_serves(reply->body, &opowned_kinds[OPOWNED_MONITORS]);
    begin_operator(p);
}

/* Prometheus' operator may not be installed. */
static void ask_monitors(struct program *p)
{
    const struct kubekind *kind = &opowned_kinds[OPOWNED_MONITORS];

    if (kubeapi_discover(p->k.kube, kind->group, kind->version, take_monitors, p) < 0) {
        p->asked = 0;
        kubeprogram_again(&p->k, ASK_US);
    }
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
        ask_monitors(p);
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

static int begin_program(void *ctx, struct err *err)
{
    struct program *p = ctx;
    int r = kubeprogram_load(&p->k, err);

    return r < 0 ? r : kubeprogram_begin(&p->k, err);
}

static void end_program(void *ctx)
{
    struct program *p = ctx;

    if (p->operator_)
        operator_stop(p->operator_);
    kubeprogram_hang_up(&p->k);
    p->operator_ = operator_free(p->operator_);
    kubeprogram_end(&p->k);
    json_decref(p->conditions);
    free(p->namespaces);
}

int main(int argc, char **argv)
{
    struct program p = { .k = { .name = "penstock-operator",
                                .agent = "penstock-operator/" PENSTOCK_VERSION,
                                .ask = ask_groups,
                                .ctx = &p,
                                .signals = -1 },
                         .o = { .slurm_user = "slurm" } };
    int r;

    inherit_begin(3);
    r = read_options(&p, argc, argv);
    if (r >= 0)
        return r;
    return kubeprogram_live(&p.k, begin_program, end_program);
}
