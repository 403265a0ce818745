/* bridgeleave.c - see bridgeleave.h */
#include "kube/bridge/bridgeleave.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgegroup.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

static void unref_entry(void *entry)
{
    json_decref(entry);
}

void bridgeleave_stop(struct bridge *b)
{
    kubemap_done(&b->there, unref_entry);
}

/* leaves false: it is there, and nothing says that it goes. */
static void note_pod(struct bridge *b, const json_t *pod, bool leaves)
{
    const char *node = kubejson_text(pod, "spec.nodeName"), *uid = kubejson_uid(pod);
    json_t *entry = kubemap_get(&b->there, node), *pods;

    if (!entry) {
        entry = json_pack("{s:{}, s:{}}", "pods", "gangs");
        if (!entry || kubemap_put(&b->there, node, entry) < 0) {
            json_decref(entry); /* the kubelet decides then */
            return;
        }
    }
    pods = json_object_get(entry, "pods");
    if (leaves || !json_object_get(pods, uid))
        (void)json_object_set_new(pods, uid, json_boolean(leaves));
}

static void drop_pod(struct bridge *b, const json_t *pod)
{
    const char *node = kubejson_text(pod, "spec.nodeName"), *gang;
    json_t *entry = kubemap_get(&b->there, node), *value;

    if (!entry || json_object_del(json_object_get(entry, "pods"), kubejson_uid(pod)) < 0)
        return; /* it was not there */
    json_object_foreach(json_object_get(entry, "gangs"), gang, value) bridgegang_wake(b, gang, 0);
    (void)json_object_clear(json_object_get(entry, "gangs"));
    if (json_object_size(json_object_get(entry, "pods")))
        return;
    (void)kubemap_take(&b->there, node);
    json_decref(entry);
}

void bridgeleave_see(struct bridge *b, const json_t *before, const json_t *now)
{
    if (!now || podread_is_over(now))
        drop_pod(b, now ? now : before);
    else if (podread_is_bound(now))
        note_pod(b, now, kubejson_is_deleted(now));
}

void bridgeleave_end(struct gang *g, const struct slurmjob *job)
{
    const char *uid;
    json_t *one;

    json_object_foreach(g->uids, uid, one)
    {
        const json_t *pod = kubeinformer_by_uid(g->b->pods, uid);

        if (pod && podgang_has_pod(job, pod) && podread_is_bound(pod) && !podread_is_over(pod))
            note_pod(g->b, pod, true);
    }
}

/* ---- nodes of jobs that have ended ----------------------------------------------------------- */

/* Pods that wait need no node of a job that the gang is done with, but a binding that was sent last
 * may be told later than the job's end.  Those of another are being deleted. */
static bool may_be_bound(const struct bridge *b, const struct slurmjob *job)
{
    const struct gang *g = kubemap_get(&b->gangs, kubejson_text(job->comment, "gang"));

    if (!g || g->done_job != job->id)
        return true;
    return g->sent_job == job->id && now_mono_us() - g->sent_mono_us < BRIDGELEAVE_SENT_US;
}

/* Does another job of the gang have the pod, one that has not ended? */
static bool is_elsewhere(const struct bridge *b, const struct slurmjob *job, const json_t *pod)
{
    const char *label = kubejson_label(pod, BRIDGE_LABEL_JOB);
    const struct slurmjob *other;
    uint64_t id;

    if (!label || parse_u64(label, 1, UINT32_MAX, &id) < 0 || id == job->id)
        return false;
    other = slurmlink_job(b->slurm, (uint32_t)id);
    return other && (other->state == SLURMJOB_PENDING || other->state == SLURMJOB_RUNNING) &&
           other->comment && podgang_has_pod(other, pod);
}

static bool needs_node(const struct bridge *b, const struct slurmjob *job, const json_t *pod)
{
    if (!pod || podread_is_over(pod) || is_elsewhere(b, job, pod))
        return false;
    return podread_is_bound(pod) || may_be_bound(b, job);
}

void bridgeleave_let_go(struct bridge *b, const struct slurmjob *job)
{
    size_t i;
    json_t *uid;

    if (!slurmlink_is_kept(job) || job->letting_go || !bridgegang_is_ready(b))
        return;
    json_array_foreach(json_object_get(job->comment, "uids"), i, uid)
    {
        if (needs_node(b, job, kubeinformer_by_uid(b->pods, json_string_value(uid)))) {
            slurmlink_look_again(b->slurm);
            return;
        }
    }
    slurmlink_let_go(b->slurm, job->id);
}

/* ---- nodes of jobs that begin ---------------------------------------------------------------- */

/* Is there a pod that goes?  A job that has its nodes alone got this one when the job of any other
 * pod there had ended, whether or not that was told before. */
static bool is_held(const json_t *entry, bool alone)
{
    const char *uid;
    json_t *leaves;

    json_object_foreach(json_object_get(entry, "pods"), uid, leaves)
    {
        if (alone || json_is_true(leaves))
            return true;
    }
    return false;
}

static bool is_alone(const struct gang *g, const json_t *pods)
{
    bool missing = false;
    _cleanup_json_ json_t *root = bridgegroup_root(g->b, json_array_get(pods, 0), &missing);
    const char *said = kubejson_annotation(root, BRIDGE_NOTE_PREFIX "exclusive");

    return !(said && strcmp(said, "false") == 0);
}

bool bridgeleave_is_done(struct gang *g, const json_t *pods, const json_t *places)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    bool alone = is_alone(g, pods);
    size_t i;
    json_t *one;

    json_array_foreach(places, i, one)
    {
        const char *node = kubejson_text(one, "node");
        json_t *entry = kubemap_get(&g->b->there, node);

        if (!entry || !is_held(entry, alone))
            continue;
        (void)json_object_set_new(json_object_get(entry, "gangs"), g->key, json_true());
        if (!text.len)
            strbuf_addf(&text, "Another pod is being ended on node %s", node);
    }
    if (!text.len) {
        bridgegang_end_wait(g, BRIDGEWAIT_LEAVING);
        return true;
    }
    if (bridgegang_is_overdue(g, BRIDGEWAIT_LEAVING))
        return true;
    bridgegang_wake(g->b, g->key, g->b->o.wait_us / 10);
    bridgeact_tell(g, pods, "SlurmWaitingForNode", strbuf_str(&text));
    return false;
}
