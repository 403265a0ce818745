/* opleader.c - see opleader.h */
#include "kube/operator/opleader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubeconfig.h"
#include "kube/api/kubejson.h"
#include "kube/make/opconf.h"
#include "kube/make/opkeys.h"
#include "kube/operator/opapply.h"
#include "version.h"

#define ANSWER_MS 1500

struct opleader;

struct pod {
    struct opleader *l;
    int ordinal;
    struct kubeconfig config;
    struct kubeserver *server; /* NULL: it has no address yet */
};

struct opleader {
    struct operator_ *op;
    struct kubetimer again;
    struct pod pods[OPLEADER_MOST];
    unsigned n, waits; /* pods; answers that are missing */
    int found, leader; /* of this round; as it was told */
    char *namespace_, *name;
    char uid[]; /* of the Controller */
};

bool opleader_is_address(const char *text, char *buf, size_t size)
{
    struct in6_addr six;
    struct in_addr four;

    if (inet_pton(AF_INET, text, &four) == 1)
        (void)snprintf(buf, size, "http://%s:%d", text, OPCONF_CTLD_PORT);
    else if (inet_pton(AF_INET6, text, &six) == 1)
        (void)snprintf(buf, size, "http://[%s]:%d", text, OPCONF_CTLD_PORT);
    else
        return false;
    return true;
}

static const json_t *find_pod(const struct operator_ *op, const char *namespace_, const char *name,
                              int ordinal)
{
    char pod[300];

    (void)snprintf(pod, sizeof(pod), "%s-controller-%d", name, ordinal);
    return kubeinformer_by_name(op->controllers, namespace_, pod);
}

static void drop_server(struct pod *p)
{
    p->server = kubeserver_free(p->server);
    kubeconfig_done(&p->config);
    p->config = (struct kubeconfig){ 0 };
}

static void end_round(struct opleader *l)
{
    if (l->found != l->leader && l->found >= 0) { /* when none leads, the next will soon */
        log_info("%s/%s: slurmctld %d leads", l->namespace_, l->name, l->found);
        l->leader = l->found;
        (void)kubequeue_add(l->op->queue, l->uid); /* or at the next change */
    }
    kubeloop_arm(kubeserver_loop(l->op->kube), &l->again, now_mono_us() + OPLEADER_US);
}

static void take_answer(void *ctx, const struct kubereply *reply)
{
    struct pod *p = ctx;
    struct opleader *l = p->l;

    /* Two that say so: the earlier one is about to notice. */
    if (reply->status == 204)
        l->found = l->found == -1 ? p->ordinal : -2;
    if (--l->waits == 0)
        end_round(l);
}

/* The address of a pod that was made anew is another one. */
static void see_address(struct pod *p)
{
    static const struct kubeserver_options o = { "penstock-operator/" PENSTOCK_VERSION, NULL, 0, 0,
                                                 2 };
    struct opleader *l = p->l;
    const json_t *pod = find_pod(l->op, l->namespace_, l->name, p->ordinal);
    const char *address = kubejson_text(pod, "status.podIP");
    char url[120];

    if (!pod || kubejson_is_deleted(pod) || !opleader_is_address(address, url, sizeof(url))) {
        drop_server(p);
        return;
    }
    if (p->server && strcmp(p->config.server, url) == 0)
        return;
    drop_server(p);
    p->config.server = strdup(url);
    if (!p->config.server ||
        kubeserver_new(kubeserver_loop(l->op->kube), &p->config, &o, &p->server) < 0)
        drop_server(p);
}

static void ask_pods(void *ctx)
{
    struct opleader *l = ctx;

    l->found = -1;
    l->waits = 1; /* this walk */
    for (unsigned i = 0; i < l->n; i++) {
        struct pod *p = &l->pods[i];

        see_address(p);
        if (p->server && kubecall_start(p->server,
                                        &(struct kubecall_spec){ .method = "GET",
                                                                 .path = "/readyz",
                                                                 .timeout_ms = ANSWER_MS,
                                                                 .done = take_answer,
                                                                 .ctx = p },
                                        NULL) == 0)
            l->waits++;
    }
    if (--l->waits == 0)
        end_round(l);
}

static void free_leader(void *leader)
{
    struct opleader *l = leader;

    kubeloop_disarm(kubeserver_loop(l->op->kube), &l->again);
    for (unsigned i = 0; i < l->n; i++)
        drop_server(&l->pods[i]);
    free(l->namespace_);
    free(l->name);
    free(l);
}

static struct opleader *begin_leader(struct operator_ *op, const json_t *controller)
{
    const char *uid = kubejson_uid(controller);
    struct opleader *l = calloc(1, sizeof(*l) + strlen(uid) + 1);

    if (!l)
        return NULL;
    l->op = op;
    l->leader = -1;
    memcpy(l->uid, uid, strlen(uid) + 1);
    l->again = (struct kubetimer){ .fn = ask_pods, .ctx = l };
    l->namespace_ = strdup(kubejson_namespace(controller));
    l->name = strdup(kubejson_name(controller));
    if (!l->namespace_ || !l->name || kubemap_put(&op->leaders, uid, l) < 0) {
        free_leader(l);
        return NULL;
    }
    kubeloop_arm(kubeserver_loop(op->kube), &l->again, now_mono_us());
    return l;
}

/* The ordinal of the pod that leads; -1: not known, or none does.  The Controller is woken when
 * that changes. */
static int opleader_get(struct operator_ *op, const json_t *controller)
{
    struct opleader *l = kubemap_get(&op->leaders, kubejson_uid(controller));
    unsigned n = MIN((unsigned)opconf_replicas(controller), OPLEADER_MOST);

    if (!l)
        l = begin_leader(op, controller);
    if (!l)
        return -1;
    for (unsigned i = l->n; i < n; i++)
        l->pods[i] = (struct pod){ .l = l, .ordinal = (int)i };
    for (unsigned i = n; i < l->n; i++)
        if (l->waits == 0)
            drop_server(&l->pods[i]); /* else its answer is still counted */
    if (n > l->n || l->waits == 0)
        l->n = n;
    return l->leader;
}

void opleader_forget(struct operator_ *op, const char *uid)
{
    struct opleader *l = kubemap_take(&op->leaders, uid);

    if (l)
        free_leader(l);
}

void opleader_stop(struct operator_ *op)
{
    kubemap_done(&op->leaders, free_leader);
}

/* ---- the mark -------------------------------------------------------------------------------- */

static bool is_marked(const json_t *pod)
{
    const char *label = pod ? kubejson_label(pod, OPKEY_ACTIVE) : NULL;

    return label && strcmp(label, "true") == 0;
}

static void mark_pod(struct opwork *w, const json_t *pod, bool active)
{
    _cleanup_json_ json_t *body = json_pack("{s:{s:{s:o}}}", "metadata", "labels", OPKEY_ACTIVE,
                                            active ? json_string("true") : json_null());

    if (body)
        opapply_patch(w, &opowned_kinds[OPOWNED_PODS], pod, NULL, KUBEAPI_MERGE, body);
    else
        opapply_fail(w, ERR_NOMEM);
}

void opleader_mark(struct opwork *w)
{
    const char *namespace_ = kubejson_namespace(w->cr), *name = kubejson_name(w->cr);
    unsigned n = MIN((unsigned)opconf_replicas(w->cr), OPLEADER_MOST);
    int leader;
    bool marked = false;

    if (n < 2) {
        opleader_forget(w->op, w->uid);
        return;
    }
    leader = opleader_get(w->op, w->cr);
    for (unsigned i = 0; i < n; i++)
        marked = marked || is_marked(find_pod(w->op, namespace_, name, (int)i));
    if (leader < 0 && marked)
        return;
    for (unsigned i = 0; i < n; i++) {
        const json_t *pod = find_pod(w->op, namespace_, name, (int)i);
        bool active = (int)i == (leader < 0 ? 0 : leader);

        if (pod && !kubejson_is_deleted(pod) && is_marked(pod) != active)
            mark_pod(w, pod, active);
    }
}
