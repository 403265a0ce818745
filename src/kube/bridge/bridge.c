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
#include "kube/bridge/bridgedevice.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgegroup.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/bridge/bridgeleave.h"
#include "kube/bridge/bridgenear.h"
#include "kube/bridge/bridgevolume.h"
#include "kube/bridge/bridgework.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

#define SETTLE_US INT64_C(100000) /* pods of a group come one after the other */
#define NODES_US USEC_PER_SEC     /* nodes change together */
#define ACTIONS_AT_ONCE 64u
#define SILENCE_US (INT64_C(60) * USEC_PER_SEC) /* looked at so often */
#define WAIT_US (INT64_C(600) * USEC_PER_SEC)

static void wake_one(void *ctx, const char *key, void *gang)
{
    (void)gang;
    bridgegang_wake(ctx, key, 0);
}

/* Some of its pods use their nodes, and wait for the others. */
static void wake_in_part(void *ctx, const char *key, void *gang)
{
    if (bridgegang_is_in_part(gang))
        bridgegang_wake(ctx, key, 0);
}

static void wake_all(void *ctx)
{
    struct bridge *b = ctx;

    bridgenodes_begin(b->externals);
    if (!bridgegang_is_ready(b))
        return;
    kubemap_walk(&b->gangs, wake_in_part, b); /* they go first */
    kubemap_walk(&b->gangs, wake_one, b);
    slurmlink_look_again(b->slurm);
}

/* Somebody answers again who did not. */
static void hurry_gangs(void *ctx)
{
    struct bridge *b = ctx;

    kubequeue_hurry(b->queue);
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
        bridgegang_wake(b, kubejson_text(job->comment, "gang"), 0);
}

static void take_pod(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;
    const json_t *pod = now ? now : before;
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct gang *g;

    podread_gang(pod, bridgegroup_is_labelled(b, pod), bridgegroup_is_native(b, pod), &key);
    g = key.failed ? NULL : bridgegang_find(b, strbuf_str(&key));
    if (!g)
        return;
    bridgeleave_see(b, before, now);
    bridgenear_see(b, before, now, g->key);
    if (!before || !now)
        bridgevolume_see(b, pod, g->key, now != NULL);
    if (now)
        (void)json_object_set_new(g->uids, kubejson_uid(pod), json_true());
    else
        (void)json_object_del(g->uids, kubejson_uid(pod)); /* it may have gone before */
    if (!bridgegang_is_ready(b))
        return;
    wake_labelled(b, pod, g->key);
    bridgegang_wake(b, g->key, now && !before && !kubejson_after(g->key, "pod/") ? SETTLE_US : 0);
}

/* Of the gangs only those whose job waits have something to change. */
static void wake_waiting(void *ctx, const char *key, void *gang)
{
    struct bridge *b = ctx;
    const struct gang *g = gang;
    const struct slurmjob *job = g->job_id ? slurmlink_job(b->slurm, g->job_id) : NULL;

    if ((job && job->state == SLURMJOB_PENDING) || (!job && g->no_node))
        bridgegang_wake(b, key, 0);
}

static void look_at_waiting(void *ctx)
{
    struct bridge *b = ctx;

    if (bridgegang_is_ready(b))
        kubemap_walk(&b->gangs, wake_waiting, b);
}

/* Jobs that wait may wait for such a node: their pods say so. */
static void see_drains(void *ctx)
{
    struct bridge *b = ctx;

    kubeloop_arm(kubeserver_loop(b->kube), &b->settled, now_mono_us() + NODES_US);
}

static void hear_node(void *ctx, const char *name)
{
    struct bridge *b = ctx;

    bridgenodes_hear(b->externals, name);
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
    bridgenodes_see(b->externals, before, now);
}

static void wake_group(struct bridge *b, const char *prefix, const json_t *group)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;

    strbuf_addf(&key, "%s/%s/%s", prefix, kubejson_namespace(group), kubejson_name(group));
    if (bridgegang_is_ready(b) && kubemap_get(&b->gangs, strbuf_str(&key)))
        bridgegang_wake(b, strbuf_str(&key), 0);
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

/* While slurmrestd says nothing nobody is woken: pods are to say so. */
static void see_silence(void *ctx)
{
    struct bridge *b = ctx;

    if (bridgegang_is_deaf(b))
        kubemap_walk(&b->gangs, wake_one, b);
    kubeloop_arm(kubeserver_loop(b->kube), &b->silence,
                 now_mono_us() + MIN(SILENCE_US, b->o.wait_us));
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
    g = is_active(job) ? bridgegang_find(b, kubejson_text(job->comment, "gang"))
                       : kubemap_get(&b->gangs, kubejson_text(job->comment, "gang"));
    bridgeleave_let_go(b, job);
    if (slurmlink_is_kept(job) && (!g || g->done_job == job->id))
        return; /* told again when its nodes are free */
    if (!g) {
        if (bridgegang_is_ready(b))
            slurmlink_forget(b->slurm, job->id); /* it has ended, and nobody waits for it */
        return;
    }
    if (!is_active(job) && job->state != SLURMJOB_UNKNOWN && g->job_id == job->id)
        bridgeleave_end(g, job);
    other = g->job_id ? slurmlink_job(b->slurm, g->job_id) : NULL;
    if (!g->job_id || g->job_id == job->id || (is_active(job) && !is_active(other)))
        g->job_id = job->id;
    else if (is_active(job) && is_active(other)) {
        log_error("%s: jobs %u and %u: the later one is cancelled", g->key, other->id, job->id);
        (void)slurmlink_cancel(b->slurm, MAX(job->id, other->id), ignore_reply, NULL);
        g->job_id = MIN(job->id, other->id);
    }
    if (bridgegang_is_ready(b))
        bridgegang_wake(b, g->key, 0);
}

/* ---- begin and end --------------------------------------------------------------------------- */

int bridge_new(struct kubeserver *kube, struct kubeserver *slurm, const struct bridge_options *o,
               struct bridge **ret)
{
    const struct kubequeue_options q = { .at_once = ACTIONS_AT_ONCE, .in_turns = true };
    struct bridge *b = calloc(1, sizeof(*b));
    int r;

    if (!b)
        return -ENOMEM;
    b->kube = kube;
    b->o = *o;
    b->o.name = o->name ? o->name : "";
    b->o.wait_us = o->wait_us ? o->wait_us : WAIT_US;
    b->exclusion.scheduler = o->scheduler;
    b->exclusion.needs = bridgevolume_needs;
    b->exclusion.meets = bridgedevice_meets;
    b->exclusion.ctx = b;
    b->synced = wake_all;
    b->back = hurry_gangs;
    b->settled = (struct kubetimer){ .fn = look_at_waiting, .ctx = b };
    b->silence = (struct kubetimer){ .fn = see_silence, .ctx = b };
    (void)snprintf(b->selector, sizeof(b->selector), "fieldSelector=spec.schedulerName%%3D%s",
                   o->scheduler);
    (void)snprintf(b->others_selector, sizeof(b->others_selector),
                   "fieldSelector=spec.schedulerName%%21%%3D%s", o->scheduler);
    bridgenear_begin(b);
    r = kubequeue_new(kubeserver_loop(kube), &q, bridgework_do, b, &b->queue);
    if (r == 0)
        r = kubeevents_new(kube, "penstock-bridge", &b->events);
    if (r == 0)
        r = bridgenodes_new(
            slurm,
            &(struct bridgenodes_facts){ b->o.name, &b->nodes, o->devices ? &b->slices : NULL,
                                         &b->node_names, &b->node_slices, kube,
                                         o->taint ? o->scheduler : NULL, b->events, see_drains, b },
            &b->externals);
    if (r == 0 && o->groups)
        r = bridgekinds_follow(b, &bridge_groups, NULL, take_group, &b->groups);
    if (r == 0 && o->native)
        r = bridgekinds_follow(b, &bridge_native, NULL, take_native, &b->native);
    if (r == 0 && o->workloads)
        r = bridgekinds_follow(b, &bridge_workloads, NULL, take_owner, &b->workloads);
    if (r == 0 && o->jobsets)
        r = bridgekinds_follow(b, &bridge_jobsets, NULL, take_owner, &b->jobsets);
    if (r == 0)
        r = bridgekinds_follow(b, &kubekind_nodes, NULL, take_node, &b->nodes);
    if (r == 0)
        r = bridgekinds_follow(b, &kubekind_jobs, NULL, take_owner, &b->jobs);
    if (r == 0)
        r = bridgevolume_begin(b);
    if (r == 0)
        r = bridgedevice_begin(b);
    if (r == 0)
        r = bridgekinds_follow(b, &kubekind_pods, b->selector, take_pod, &b->pods);
    if (r == 0)
        r = slurmlink_new(
            slurm, b->o.name,
            &(struct slurmlink_heard){ take_slurmjob, hear_node, wake_all, hurry_gangs, b },
            &b->slurm);
    if (r == 0)
        see_silence(b);
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
    kubeloop_disarm(kubeserver_loop(b->kube), &b->silence);
    b->pods = kubeinformer_free(b->pods);
    b->jobs = kubeinformer_free(b->jobs);
    b->nodes = kubeinformer_free(b->nodes);
    b->groups = kubeinformer_free(b->groups);
    b->native = kubeinformer_free(b->native);
    b->jobsets = kubeinformer_free(b->jobsets);
    b->workloads = kubeinformer_free(b->workloads);
    bridgevolume_stop(b);
    bridgedevice_stop(b);
    bridgeleave_stop(b);
    bridgenear_stop(b);
}

struct bridge *bridge_free(struct bridge *b)
{
    if (!b)
        return NULL;
    b->slurm = slurmlink_free(b->slurm);
    b->externals = bridgenodes_free(b->externals);
    b->queue = kubequeue_free(b->queue);
    b->events = kubeevents_free(b->events);
    kubemap_done(&b->gangs, bridgegang_free);
    kubemap_done(&b->node_names, free);
    exclusion_forget(&b->exclusion);
    free(b);
    return NULL;
}
