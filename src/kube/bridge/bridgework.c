/* bridgework.c - see bridgework.h */
#include "kube/bridge/bridgework.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgedevice.h"
#include "kube/external/bridgedrain.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgegroup.h"
#include "kube/bridge/bridgeleave.h"
#include "kube/bridge/bridgenear.h"
#include "kube/bridge/bridgeplace.h"
#include "kube/bridge/bridgesubmit.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

#define ASK_US USEC_PER_SEC
#define REASON_US (2 * USEC_PER_SEC)

/* The scheduler says why a job waits some time after it was submitted, without an event. */
static void ask_reason(struct gang *g, const struct slurmjob *job)
{
    int64_t now = now_mono_us();

    if (now >= g->ask_mono_us) {
        g->ask_mono_us = now + REASON_US;
        (void)slurmlink_ask(g->b->slurm, job->id); /* asked again after the pause */
    }
    bridgegang_wake(g->b, g->key, REASON_US);
}

/* Pods that wait for an answer of slurmrestd say so when it has been away for long. */
static bool tell_silence(struct gang *g, const json_t *pods)
{
    char text[128];

    if (!bridgegang_is_deaf(g->b))
        return false;
    (void)snprintf(text, sizeof(text),
                   "%s does not answer: pods are neither placed nor ended meanwhile",
                   slurmlink_silent(g->b->slurm));
    bridgeact_tell(g, pods, "SlurmUnknown", text);
    return true;
}

static void tell_pending(struct gang *g, const struct podgang_view *v)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    char stamp[40];

    if (!v->job || v->job->state != SLURMJOB_PENDING || tell_silence(g, v->pods))
        return;
    if (!v->job->reason || !*v->job->reason || strcmp(v->job->reason, "None") == 0) {
        ask_reason(g, v->job);
        return;
    }
    strbuf_addf(&text, "Slurm job %u waits: %s", v->job->id, v->job->reason);
    if (v->job->start_s > 0) {
        /* To the minute: the expectation moves with every pass. */
        kubejson_stamp(v->job->start_s / 60 * 60 * USEC_PER_SEC, false, stamp, sizeof(stamp));
        strbuf_addf(&text, ", expected to start %s", stamp);
    }
    bridgedrain_write(bridgenodes_drains(g->b->externals), v->job->excluded, v->job->partition,
                      &text);
    bridgeact_tell(g, v->pods, "SlurmPending", strbuf_str(&text));
}

static void take_back(struct gang *g, const json_t *pods)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod) bridgenear_give(g->b, pod, NULL);
}

static void do_action(struct gang *g, const struct podgang_view *v)
{
    char text[80];

    switch (podgang_decide(v)) {
    case GANG_WAIT:
        (void)snprintf(text, sizeof(text), "The group has fewer pods than it needs");
        bridgeact_tell(g, v->pods, "SlurmWaitingForPods", text);
        break;
    case GANG_SUBMIT:
        (void)tell_silence(g, v->pods);
        bridgesubmit_job(g, v);
        break;
    case GANG_ASK:
        (void)tell_silence(g, v->pods);
        (void)slurmlink_ask(g->b->slurm, v->job->id); /* asked again after the pause */
        bridgegang_wake(g->b, g->key, ASK_US);
        break;
    case GANG_CANCEL:
        bridgeact_count(g, slurmlink_cancel(g->b->slurm, v->job->id, bridgeact_take, g));
        break;
    case GANG_GIVE_UP:
        bridgeplace_give_up(g, v, "its pods are not all there any more");
        break;
    case GANG_MARK:
        bridgeplace_mark(g, v->pods, v->job);
        break;
    case GANG_PLACE:
        bridgeplace_bind(g, v);
        break;
    case GANG_END:
        bridgeplace_delete(g, v);
        break;
    case GANG_AGAIN:
        take_back(g, v->pods);
        g->done_job = v->job->id;
        bridgeleave_let_go(g->b, v->job);
        if (!slurmlink_is_kept(v->job)) /* else when its nodes are free */
            slurmlink_forget(g->b->slurm, v->job->id);
        g->job_id = 0;
        bridgegang_wake(g->b, g->key, 0);
        break;
    case GANG_REST:
        if (v->job && v->job->state == SLURMJOB_PENDING && v->job->comment)
            bridgesubmit_exclude(g, v);
        tell_pending(g, v);
        if (v->job && v->job->state == SLURMJOB_RUNNING && podgang_is_placed(v))
            bridgegroup_tell_placed(g, v->pods, v->job);
        break;
    }
}

/* The gang's pods, and those that its job was made for: the gang of a pod is another one when
 * PodGroups were installed meanwhile.  NULL: no memory; a pod less would seem to have ended. */
static json_t *gather_pods(const struct gang *g, const struct slurmjob *job)
{
    _cleanup_json_ json_t *pods = json_array(), *uids = json_deep_copy(g->uids);
    const json_t *of_job = job ? json_object_get(job->comment, "uids") : NULL;
    const char *uid;
    size_t i;
    json_t *one;

    json_array_foreach(of_job, i, one)
    {
        if (json_object_set_new(uids, json_string_value(one), json_true()) < 0)
            return NULL;
    }
    json_object_foreach(uids, uid, one)
    {
        const json_t *pod = kubeinformer_by_uid(g->b->pods, uid);

        if (pod && json_array_append(pods, (json_t *)(uintptr_t)pod) < 0) /* only read */
            return NULL;
    }
    if (!pods || !uids)
        return NULL;
    podgang_sort(pods);
    return TAKE_PTR(pods);
}

/* The gang's job.  Whoever may label a pod can name any job there: one that was made for another
 * gang is not ours to end. */
static const struct slurmjob *find_job(struct gang *g)
{
    const struct slurmjob *job = g->job_id ? slurmlink_job(g->b->slurm, g->job_id) : NULL;

    if (job && !podgang_owns(job, g->key)) {
        log_limited(LOG_INFO, "%s: job %u of its label is another gang's", g->key, g->job_id);
        g->job_id = 0;
        return NULL;
    }
    return job;
}

/* Pods that run without a job that we know: the label says which it was. */
static void adopt_label(struct gang *g, const json_t *pods)
{
    size_t i;
    json_t *pod;
    uint64_t id;

    json_array_foreach(pods, i, pod)
    {
        const char *label = kubejson_label(pod, BRIDGE_LABEL_JOB);
        const struct slurmjob *known;

        if (!podread_is_bound(pod) || podread_is_over(pod) || !label ||
            parse_u64(label, 1, UINT32_MAX, &id) < 0)
            continue;
        known = slurmlink_job(g->b->slurm, (uint32_t)id);
        if ((!known || podgang_owns(known, g->key)) &&
            slurmlink_ask(g->b->slurm, (uint32_t)id) == 0) {
            g->job_id = (uint32_t)id;
            return;
        }
    }
}

void bridgework_do(void *ctx, const char *key)
{
    struct bridge *b = ctx;
    struct gang *g = kubemap_get(&b->gangs, key);
    _cleanup_json_ json_t *pods = NULL;
    const struct slurmjob *job;
    struct podgang_view v;

    if (!g || (!bridgegang_is_ready(b) && !bridgegang_is_deaf(b))) {
        kubequeue_done(b->queue, key, true); /* all are woken when everything is known */
        return;
    }
    job = find_job(g);
    pods = gather_pods(g, job);
    if (!pods) {
        kubequeue_done(b->queue, key, false);
        return;
    }
    if (!bridgegang_is_ready(b)) {
        g->failed = g->refused_it = false;
        g->deciding = true;
        (void)tell_silence(g, pods);
        g->deciding = false;
        bridgeact_end(g);
        return;
    }
    if (!g->job_id)
        adopt_label(g, pods);
    job = find_job(g);
    v = (struct podgang_view){ pods, bridgegroup_least(b, pods), job };
    g->failed = g->refused_it = g->in_part = false;
    g->deciding = true;
    if (v.job)
        bridgeleave_let_go(b, v.job);
    bridgeplace_release(g, &v);
    bridgedevice_release(g, pods);
    if (g->job_id && !v.job) {
        (void)slurmlink_ask(b->slurm, g->job_id); /* asked again after the pause */
        bridgegang_wake(b, key, ASK_US);
    } else
        do_action(g, &v);
    g->deciding = false;
    if (!g->requests && !g->job_id && json_object_size(g->uids) == 0 && !g->failed) {
        (void)kubemap_take(&b->gangs, g->key);
        kubequeue_done(b->queue, g->key, true);
        bridgegang_free(g);
        return;
    }
    bridgeact_end(g);
}
