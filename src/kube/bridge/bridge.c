/* bridge.c - see bridge.h
 *
 * Here: what is followed, and whose turn that makes it. */
#include "kube/bridge/bridge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridge_impl.h"
#include "kube/bridge/bridgekeys.h"
#include "kube/bridge/podread.h"

#define SETTLE_US INT64_C(100000) /* pods of a group come one after the other */
#define NODES_US USEC_PER_SEC     /* nodes change together */
#define ACTIONS_AT_ONCE 64u

const struct kubekind bridge_groups = { "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_native = { "scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_jobsets = { "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true };

/* ---- gangs ----------------------------------------------------------------------------------- */

static struct gang *find_gang(struct bridge *b, const char *key)
{
    struct gang *g = kubemap_get(&b->gangs, key);

    if (g)
        return g;
    g = calloc(1, sizeof(*g) + strlen(key) + 1);
    if (!g)
        return NULL;
    g->b = b;
    memcpy(g->key, key, strlen(key) + 1);
    g->uids = json_object();
    g->bad_nodes = json_array();
    if (!g->uids || !g->bad_nodes || kubemap_put(&b->gangs, key, g) < 0) {
        json_decref(g->uids);
        json_decref(g->bad_nodes);
        free(g);
        return NULL;
    }
    return g;
}

void bridge_free_gang(void *gang)
{
    struct gang *g = gang;

    json_decref(g->uids);
    json_decref(g->bad_nodes);
    free(g->told);
    free(g->excluded);
    free(g);
}

/* The node of Kubernetes that Slurm calls so; NULL: there is none. */
const char *bridge_node(const struct bridge *b, const char *name)
{
    const char *other = kubemap_get(&b->node_names, name);
    const json_t *node = kubeinformer_by_name(b->nodes, "", other ? other : name);

    if (!node || (!other && kubejson_label(node, BRIDGE_LABEL_NODE) &&
                  strcmp(kubejson_label(node, BRIDGE_LABEL_NODE), name) != 0))
        return NULL;
    return kubejson_name(node);
}
bool bridge_is_ready(const struct bridge *b)
{
    return slurmlink_is_synced(b->slurm) && kubeinformer_is_synced(b->pods) &&
           kubeinformer_is_synced(b->nodes) && kubeinformer_is_synced(b->jobs) &&
           (!b->groups || kubeinformer_is_synced(b->groups)) &&
           (!b->native || kubeinformer_is_synced(b->native)) &&
           (!b->jobsets || kubeinformer_is_synced(b->jobsets));
}

void bridge_wake(struct bridge *b, const char *key, int64_t after_us)
{
    if ((after_us ? kubequeue_add_after(b->queue, key, after_us) : kubequeue_add(b->queue, key)) <
        0)
        log_error("out of memory: %s waits for its next change", key);
}

static void wake_one(void *ctx, const char *key, void *gang)
{
    (void)gang;
    bridge_wake(ctx, key, 0);
}

static void wake_all(void *ctx)
{
    struct bridge *b = ctx;

    if (bridge_is_ready(b))
        kubemap_walk(&b->gangs, wake_one, b);
}

/* A pod may be one of another gang's job: that of its label. */
static void wake_labelled(struct bridge *b, const json_t *pod, const char *key)
{
    const char *label = kubejson_label(pod, BRIDGE_LABEL_JOB);
    const struct slurmjob *job = NULL;
    uint64_t id;

    if (label && parse_u64(label, 1, UINT32_MAX, &id) == 0)
        job = slurmlink_job(b->slurm, (uint32_t)id);
    if (job && !podgang_owns(job, key) && podgang_has_pod(job, pod) &&
        kubemap_get(&b->gangs, kubejson_text(job->comment, "gang")))
        bridge_wake(b, kubejson_text(job->comment, "gang"), 0);
}

static void take_pod(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;
    const json_t *pod = now ? now : before;
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct gang *g;

    podread_gang(pod, bridgegroup_is_labelled(b, pod), bridgegroup_is_native(b, pod), &key);
    g = key.failed ? NULL : find_gang(b, strbuf_str(&key));
    if (!g)
        return;
    if (now)
        (void)json_object_set_new(g->uids, kubejson_uid(pod), json_true());
    else
        (void)json_object_del(g->uids, kubejson_uid(pod)); /* it may have gone before */
    if (!bridge_is_ready(b))
        return;
    wake_labelled(b, pod, g->key);
    bridge_wake(b, g->key, now && !before && strncmp(g->key, "pod/", 4) != 0 ? SETTLE_US : 0);
}

/* Of the gangs only those whose job waits have something to change. */
static void wake_waiting(void *ctx, const char *key, void *gang)
{
    struct bridge *b = ctx;
    const struct gang *g = gang;
    const struct slurmjob *job = g->job_id ? slurmlink_job(b->slurm, g->job_id) : NULL;

    if (job && job->state == SLURMJOB_PENDING)
        bridge_wake(b, key, 0);
}

static void look_at_waiting(void *ctx)
{
    struct bridge *b = ctx;

    if (bridge_is_ready(b))
        kubemap_walk(&b->gangs, wake_waiting, b);
}

static void take_node(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;
    const char *old = before ? kubejson_label(before, BRIDGE_LABEL_NODE) : NULL;
    const char *name = now ? kubejson_label(now, BRIDGE_LABEL_NODE) : NULL;

    if (exclusion_changes(before, now)) {
        exclusion_forget(&b->exclusion);
        kubeloop_arm(kubeserver_loop(b->kube), &b->settled, now_mono_us() + NODES_US);
    }
    if (old)
        free(kubemap_take(&b->node_names, old));
    if (name) {
        char *copy = strdup(kubejson_name(now));

        free(kubemap_take(&b->node_names, name));
        if (!copy || kubemap_put(&b->node_names, name, copy) < 0)
            free(copy);
    }
}

static void wake_group(struct bridge *b, const char *prefix, const json_t *group)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;

    strbuf_addf(&key, "%s/%s/%s", prefix, kubejson_namespace(group), kubejson_name(group));
    if (bridge_is_ready(b) && kubemap_get(&b->gangs, strbuf_str(&key)))
        bridge_wake(b, strbuf_str(&key), 0);
}

static void take_group(void *ctx, const json_t *before, const json_t *now)
{
    wake_group(ctx, "pg", now ? now : before);
}

static void take_native(void *ctx, const json_t *before, const json_t *now)
{
    wake_group(ctx, "spg", now ? now : before);
}

static void take_owner(void *ctx, const json_t *before, const json_t *now)
{
    (void)ctx; /* read when a job is made */
    (void)before;
    (void)now;
}

static bool is_active(const struct slurmjob *job)
{
    return job && (job->state == SLURMJOB_PENDING || job->state == SLURMJOB_RUNNING);
}

static void ignore_reply(void *ctx, const struct kubereply *reply)
{
    (void)ctx; /* the job's own end is told by its stream */
    (void)reply;
}

static void take_slurmjob(void *ctx, const struct slurmjob *job)
{
    struct bridge *b = ctx;
    const struct slurmjob *other;
    struct gang *g;

    if (!job->comment)
        return;
    g = is_active(job) ? find_gang(b, kubejson_text(job->comment, "gang"))
                       : kubemap_get(&b->gangs, kubejson_text(job->comment, "gang"));
    if (!g) {
        if (bridge_is_ready(b))
            slurmlink_forget(b->slurm, job->id); /* it has ended, and nobody waits for it */
        return;
    }
    other = g->job_id ? slurmlink_job(b->slurm, g->job_id) : NULL;
    if (!g->job_id || g->job_id == job->id || (is_active(job) && !is_active(other)))
        g->job_id = job->id;
    else if (is_active(job) && is_active(other)) {
        log_error("%s: jobs %u and %u: the later one is cancelled", g->key, other->id, job->id);
        (void)slurmlink_cancel(b->slurm, MAX(job->id, other->id), ignore_reply, NULL);
        g->job_id = MIN(job->id, other->id);
    }
    if (bridge_is_ready(b))
        bridge_wake(b, g->key, 0);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int follow_kind(struct bridge *b, const struct kubekind *kind, const char *selector,
                       kubeinformer_fn *fn, struct kubeinformer **ret)
{
    const struct kubeinformer_options o = {
        .kind = kind, .selector = selector, .fn = fn, .synced = wake_all, .ctx = b
    };

    return kubeinformer_new(b->kube, &o, ret);
}

int bridge_new(struct kubeserver *kube, struct kubeserver *slurm, const struct bridge_options *o,
               struct bridge **ret)
{
    const struct kubequeue_options q = { .at_once = ACTIONS_AT_ONCE };
    struct bridge *b = calloc(1, sizeof(*b));
    int r;

    if (!b)
        return -ENOMEM;
    b->kube = kube;
    b->o = *o;
    b->exclusion.scheduler = o->scheduler;
    b->settled = (struct kubetimer){ .fn = look_at_waiting, .ctx = b };
    (void)snprintf(b->selector, sizeof(b->selector), "fieldSelector=spec.schedulerName%%3D%s",
                   o->scheduler);
    r = kubequeue_new(kubeserver_loop(kube), &q, bridgework_do, b, &b->queue);
    if (r == 0)
        r = kubeevents_new(kube, "penstock-bridge", &b->events);
    if (r == 0 && o->groups)
        r = follow_kind(b, &bridge_groups, NULL, take_group, &b->groups);
    if (r == 0 && o->native)
        r = follow_kind(b, &bridge_native, NULL, take_native, &b->native);
    if (r == 0 && o->jobsets)
        r = follow_kind(b, &bridge_jobsets, NULL, take_owner, &b->jobsets);
    if (r == 0)
        r = follow_kind(b, &kubekind_nodes, NULL, take_node, &b->nodes);
    if (r == 0)
        r = follow_kind(b, &kubekind_jobs, NULL, take_owner, &b->jobs);
    if (r == 0)
        r = follow_kind(b, &kubekind_pods, b->selector, take_pod, &b->pods);
    if (r == 0)
        r = slurmlink_new(slurm, take_slurmjob, wake_all, b, &b->slurm);
    if (r < 0) {
        bridge_stop(b);
        b = bridge_free(b);
        return r;
    }
    *ret = b;
    return 0;
}

void bridge_stop(struct bridge *b)
{
    kubeloop_disarm(kubeserver_loop(b->kube), &b->settled);
    b->pods = kubeinformer_free(b->pods);
    b->jobs = kubeinformer_free(b->jobs);
    b->nodes = kubeinformer_free(b->nodes);
    b->groups = kubeinformer_free(b->groups);
    b->native = kubeinformer_free(b->native);
    b->jobsets = kubeinformer_free(b->jobsets);
}

struct bridge *bridge_free(struct bridge *b)
{
    if (!b)
        return NULL;
    b->slurm = slurmlink_free(b->slurm);
    b->queue = kubequeue_free(b->queue);
    b->events = kubeevents_free(b->events);
    kubemap_done(&b->gangs, bridge_free_gang);
    kubemap_done(&b->node_names, free);
    exclusion_forget(&b->exclusion);
    free(b);
    return NULL;
}
