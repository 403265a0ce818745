/* bridgenear.c - see bridgenear.h */
#include "kube/bridge/bridgenear.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podnear.h"
#include "kube/claim/podread.h"

#define SETTLE_US INT64_C(100000)           /* pods come and go together */
#define PLAN_US (INT64_C(5) * USEC_PER_SEC) /* a job that waits longer may be anywhere */
#define HOST_US USEC_PER_SEC                /* or on any node of its domain */

struct plan {
    int64_t until_mono_us;
    int64_t host_mono_us; /* the node itself is meant until then */
    bool over;            /* others have been told */
    char node[];
};

/* ---- what is there --------------------------------------------------------------------------- */

/* What was planned for a pod; NULL: nothing, or not any more. */
static const char *planned_node(const struct bridge *b, const json_t *pod)
{
    const struct plan *plan = kubemap_get(&b->planned, kubejson_uid(pod));

    return plan && now_mono_us() < plan->until_mono_us ? plan->node : NULL;
}

/* The node that the pod is on, or is being bound to, or is planned for; NULL: none. */
static const char *node_of(const struct bridge *b, const json_t *pod, bool plans)
{
    const char *given;

    if (podread_is_over(pod))
        return NULL;
    if (podread_is_bound(pod))
        return kubejson_text(pod, "spec.nodeName");
    given = kubemap_get(&b->given, kubejson_uid(pod));
    return given || !plans ? given : planned_node(b, pod);
}

static const json_t *find_node(void *ctx, const char *name)
{
    const struct bridge *b = ctx;

    return kubeinformer_by_name(b->nodes, "", name);
}

static void walk_nodes(void *ctx, podnear_node_fn *fn, void *arg)
{
    const struct bridge *b = ctx;

    kubeinformer_walk(b->nodes, fn, arg);
}

struct pod_walk {
    const struct bridge *b;
    podnear_pod_fn *fn;
    void *arg;
    bool plans;
};

static void tell_pod(void *ctx, const json_t *pod)
{
    const struct pod_walk *w = ctx;
    const char *node = node_of(w->b, pod, w->plans);

    if (node)
        w->fn(w->arg, pod, node);
}

static void walk_all(struct pod_walk w)
{
    kubeinformer_walk(w.b->pods, tell_pod, &w);
    if (w.b->others)
        kubeinformer_walk(w.b->others, tell_pod, &w);
}

static void walk_pods(void *ctx, podnear_pod_fn *fn, void *arg)
{
    walk_all((struct pod_walk){ ctx, fn, arg, false });
}

/* And those that are planned. */
static void walk_planned(void *ctx, podnear_pod_fn *fn, void *arg)
{
    walk_all((struct pod_walk){ ctx, fn, arg, true });
}

static const json_t *find_pod(const struct bridge *b, const char *uid)
{
    const json_t *pod = kubeinformer_by_uid(b->pods, uid);

    return pod || !b->others ? pod : kubeinformer_by_uid(b->others, uid);
}

static void walk_repellers(void *ctx, podnear_pod_fn *fn, void *arg)
{
    struct pod_walk w = { ctx, fn, arg, false };
    const char *uid;
    json_t *value;

    json_object_foreach(w.b->repellers, uid, value)
    {
        const json_t *pod = find_pod(w.b, uid);

        if (pod)
            tell_pod(&w, pod);
    }
}

/* Pods of ours that are bound there. */
static size_t count_there(void *ctx, const json_t *node)
{
    const struct bridge *b = ctx;

    return json_object_size(json_object_get(kubemap_get(&b->there, kubejson_name(node)), "pods"));
}

static struct podnear_facts facts_of(const struct bridge *b, bool plans)
{
    return (struct podnear_facts){ .node = find_node,
                                   .nodes = walk_nodes,
                                   .pods = plans ? walk_planned : walk_pods,
                                   .repellers = walk_repellers,
                                   .scheduler = b->o.scheduler,
                                   .load = count_there,
                                   .ctx = (void *)(uintptr_t)b };
}

/* ---- what is followed ------------------------------------------------------------------------ */

static bool has_waiting(const struct bridge *b, const struct gang *g)
{
    const char *uid;
    json_t *value;

    json_object_foreach(g->uids, uid, value)
    {
        const json_t *pod = kubeinformer_by_uid(b->pods, uid);

        if (pod && podread_is_waiting(pod))
            return true;
    }
    return false;
}

/* Gangs that say something of pods, and whose turn it may be.  What has its nodes keeps them. */
static void wake_near(void *ctx)
{
    struct bridge *b = ctx;
    const struct gang *g;
    const char *gang;
    void *next;
    json_t *value;

    json_object_foreach_safe(b->near_gangs, next, gang, value)
    {
        g = kubemap_get(&b->gangs, gang);
        if (!g || !has_waiting(b, g))
            (void)json_object_del(b->near_gangs, gang); /* it was there */
        else if (bridgegang_is_ready(b))
            bridgegang_wake(b, gang, 0);
    }
}

static bool is_same_at(const json_t *a, const json_t *b, const char *path)
{
    const json_t *x = kubejson_at(a, path), *y = kubejson_at(b, path);

    return x == y || (x && y && json_equal(x, y));
}

/* A pod that other pods may mean has come, gone or changed. */
static void see_there(struct bridge *b, const json_t *before, const json_t *now)
{
    const char *uid = kubejson_uid(now ? now : before);
    bool there = now && podread_is_bound(now) && !podread_is_over(now);
    bool was = before && podread_is_bound(before) && !podread_is_over(before);

    if (now && (podread_is_bound(now) || podread_is_over(now)))
        bridgenear_give(b, now, NULL);
    else if (!now)
        bridgenear_give(b, before, NULL);
    if (there && was && is_same_at(before, now, "metadata.labels"))
        return;
    if (!there && !was)
        return;
    if (there && podnear_repels(now)) {
        (void)json_object_set_new(b->repellers, uid, json_true());
        /* Pods that say nothing are kept away too. */
        kubeloop_arm(kubeserver_loop(b->kube), &b->settled, now_mono_us() + SETTLE_US);
    } else if (json_object_del(b->repellers, uid) == 0) {
        kubeloop_arm(kubeserver_loop(b->kube), &b->settled, now_mono_us() + SETTLE_US);
    }
    if (json_object_size(b->near_gangs))
        kubeloop_arm(kubeserver_loop(b->kube), &b->near, now_mono_us() + SETTLE_US);
}

static void take_other(void *ctx, const json_t *before, const json_t *now)
{
    see_there(ctx, before, now);
}

void bridgenear_see(struct bridge *b, const json_t *before, const json_t *now, const char *gang)
{
    see_there(b, before, now);
    if (!now || !podread_is_waiting(now) || !podnear_wants(now))
        return;
    (void)json_object_set_new(b->near_gangs, gang, json_true());
    if (!b->others &&
        bridgekinds_follow(b, &kubekind_pods, b->others_selector, take_other, &b->others) < 0)
        log_nomem("pods that say something of pods wait");
}

void bridgenear_begin(struct bridge *b)
{
    b->near = (struct kubetimer){ .fn = wake_near, .ctx = b };
    b->near_gangs = json_object(); /* without it nothing is woken here */
    b->repellers = json_object();
}

void bridgenear_stop(struct bridge *b)
{
    kubeloop_disarm(kubeserver_loop(b->kube), &b->near);
    b->others = kubeinformer_free(b->others);
    kubemap_done(&b->given, free);
    kubemap_done(&b->planned, free);
    json_decref(b->near_gangs);
    json_decref(b->repellers);
    b->near_gangs = b->repellers = NULL;
}

void bridgenear_give(struct bridge *b, const json_t *pod, const char *node)
{
    char *copy = node ? strdup(node) : NULL;

    free(kubemap_take(&b->given, kubejson_uid(pod)));
    free(kubemap_take(&b->planned, kubejson_uid(pod)));
    if (copy && kubemap_put(&b->given, kubejson_uid(pod), copy) < 0)
        free(copy); /* its watch tells it later */
}

/* ---- gangs ----------------------------------------------------------------------------------- */

static bool want_others(const json_t *pods)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        if (podnear_wants(pod))
            return true;
    }
    return false;
}

/* Is there nothing to look at?  So it is with nearly all pods. */
static bool is_free(const struct bridge *b, const json_t *pods)
{
    return !want_others(pods) && !json_object_size(b->repellers);
}

static bool knows_others(const struct bridge *b, const json_t *pods)
{
    return !want_others(pods) || (b->others && kubeinformer_is_synced(b->others));
}

bool bridgenear_is_open(struct gang *g, const json_t *pods)
{
    struct err err = { .text = "" };

    if (!want_others(pods))
        return true;
    if (podnear_check(pods, &err) < 0) {
        bridgeact_tell(g, pods, "SlurmNotSupported", err.text);
        return false;
    }
    return knows_others(g->b, pods); /* else all are woken when they are known */
}

/* As Slurm calls it. */
static const char *slurm_name(const struct bridge *b, const char *name)
{
    const json_t *node = kubeinformer_by_name(b->nodes, "", name);
    const char *label = node ? kubejson_label(node, BRIDGE_LABEL_NODE) : NULL;

    return label ? label : name;
}

/* ---- plans ----------------------------------------------------------------------------------- */

struct fit {
    struct gang *g;
    const json_t *needs;
};

static bool may_be_there(void *ctx, const json_t *node)
{
    const struct fit *fit = ctx;
    const struct bridge *b = fit->g->b;

    return !kubejson_has_text(fit->g->bad_nodes, slurm_name(b, kubejson_name(node))) &&
           bridgenodes_may_have(b->externals, slurm_name(b, kubejson_name(node))) &&
           b->exclusion.meets(b->exclusion.ctx, fit->needs, node);
}

void bridgenear_plan(struct gang *g, const json_t *pods)
{
    struct bridge *b = g->b;
    struct podnear_facts f = facts_of(b, true);
    const json_t *pod = json_array_get(pods, 0);
    _cleanup_json_ json_t *needs = NULL;
    int64_t now = now_mono_us();
    const char *node;
    struct plan *plan;
    size_t size;

    free(kubemap_take(&b->planned, kubejson_uid(pod)));
    if (json_array_size(pods) != 1 || !want_others(pods) || !knows_others(b, pods) || g->unplanned)
        return;
    f.hosts = json_object_size(b->near_gangs) > 1; /* else nobody comes with it */
    needs = b->exclusion.needs(b->exclusion.ctx, pod);
    node = needs ? podnear_choose(&f, pods, may_be_there, &(struct fit){ g, needs }) : NULL;
    size = node ? strlen(node) + 1 : 0;
    plan = node ? malloc(sizeof(*plan) + size) : NULL;
    if (!plan)
        return; /* its job is made as if there were no others */
    *plan = (struct plan){ now + PLAN_US, f.hosts ? now + HOST_US : now, false };
    memcpy(plan->node, node, size);
    if (kubemap_put(&b->planned, kubejson_uid(pod), plan) < 0)
        free(plan);
    else
        bridgegang_wake(b, g->key, (f.hosts ? HOST_US : PLAN_US) + SETTLE_US);
}

bool bridgenear_unplan(struct gang *g)
{
    const char *uid;
    json_t *one;
    bool had = false;

    json_object_foreach(g->uids, uid, one)
    {
        struct plan *plan = kubemap_take(&g->b->planned, uid);

        had = had || plan;
        free(plan);
    }
    g->unplanned = g->unplanned || had;
    return had;
}

/* A plan that is over: the job may be anywhere now, and so may others that it kept away. */
static void end_plan(struct bridge *b, const char *key, const json_t *pod)
{
    struct plan *plan = kubemap_get(&b->planned, kubejson_uid(pod));

    if (!plan || plan->over)
        return;
    if (now_mono_us() < plan->until_mono_us) {
        bridgegang_wake(b, key, plan->until_mono_us - now_mono_us() + SETTLE_US);
        return;
    }
    plan->over = true;
    if (json_object_size(b->near_gangs))
        kubeloop_arm(kubeserver_loop(b->kube), &b->near, now_mono_us() + SETTLE_US);
}

json_t *bridgenear_exclude(struct gang *g, const json_t *pods, bool *ret_all)
{
    struct podnear_facts f = facts_of(g->b, true);
    _cleanup_json_ json_t *names = json_array(), *all = json_copy(g->bad_nodes);
    size_t i;
    json_t *one;

    *ret_all = false;
    if (!names || !all || !knows_others(g->b, pods))
        return NULL;
    if (is_free(g->b, pods))
        return TAKE_PTR(all);
    if (json_array_size(pods) == 1) {
        const json_t *pod = json_array_get(pods, 0);
        const struct plan *plan = kubemap_get(&g->b->planned, kubejson_uid(pod));

        end_plan(g->b, g->key, pod);
        f.plan = planned_node(g->b, pod);
        f.hosts = plan && now_mono_us() < plan->host_mono_us;
    }
    if (podnear_exclude(&f, pods, names, ret_all) < 0)
        return NULL;
    json_array_foreach(names, i, one)
    {
        if (json_array_append_new(all, json_string(slurm_name(g->b, json_string_value(one)))) < 0)
            return NULL;
    }
    return TAKE_PTR(all);
}

enum bridgenear_answer bridgenear_judge(struct gang *g, const json_t *pods, const json_t *places)
{
    const struct podnear_facts now = facts_of(g->b, false), soon = facts_of(g->b, true);

    if (is_free(g->b, pods) || podnear_holds(&now, pods, places))
        return BRIDGENEAR_YES;
    if (!podnear_holds(&soon, pods, places))
        return BRIDGENEAR_NO;
    bridgegang_wake(g->b, g->key, SETTLE_US);
    return BRIDGENEAR_LATER;
}
