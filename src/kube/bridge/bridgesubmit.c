/* bridgesubmit.c - see bridgesubmit.h */
#include "kube/bridge/bridgesubmit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgedevice.h"
#include "kube/bridge/bridgefit.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/bridgegroup.h"
#include "kube/bridge/bridgenear.h"
#include "kube/bridge/bridgeconf.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/bridgevolume.h"
#include "kube/bridge/jobmake.h"
#include "kube/claim/podread.h"

#define OWNER_US INT64_C(500000)
#define ASK_US USEC_PER_SEC
#define OWNER_WAITS 10u /* then the pods are orphans, and have options of their own */

static void take_submitted(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;
    int64_t id = kubejson_int(reply->body, "job_id", 0);
    const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *pods;

    g->requests--;
    if (reply->status == 200 && id > 0 && id <= UINT32_MAX) {
        g->job_id = g->job_id ? g->job_id : (uint32_t)id;
        g->unplanned = false;
        if (!slurmlink_job(g->b->slurm, g->job_id)) /* the stream tells it, or it is asked for */
            bridgegang_wake(g->b, g->key, ASK_US);
    } else {
        /* without slurmctld nothing is decided */
        bool refused = first && reply->status && kubereply_slurm_error(reply) != SLURM_UNREACHABLE;

        g->failed = true; /* sent again with the same key */
        g->refused_it = kubereply_is_slurms(reply);
        if (refused && bridgenear_unplan(g)) {
            bridgeact_end(g); /* it may be refused for the planned node alone */
            return;
        }
        log_limited(LOG_ERROR, "%s: no job was made: %d %s", g->key, reply->status,
                    first ? kubejson_text(first, "error") : reply->text);
        if (refused && (pods = json_array())) {
            const char *uid;
            json_t *one;

            strbuf_addf(&text, "Slurm refuses the job: %s", kubejson_text(first, "error"));
            json_object_foreach(g->uids, uid, one)(void)
                json_array_append(pods, (json_t *)(uintptr_t)kubeinformer_by_uid(g->b->pods, uid));
            bridgeact_tell(g, pods, "SlurmRefused", strbuf_str(&text));
            json_decref(pods);
        }
    }
    bridgeact_end(g);
}

static void write_name(const json_t *pod, const json_t *root, struct strbuf *out)
{
    const char *lws = kubejson_label(pod, BRIDGE_LABEL_LWS_NAME);
    const char *index = kubejson_label(pod, BRIDGE_LABEL_LWS_GROUP);

    if (lws && index)
        strbuf_addf(out, "%s-%s", lws, index);
    else
        strbuf_add(out, kubejson_name(root));
}

/* The same pods at the same attempt have the same key, whoever asks. */
static int write_key(const struct gang *g, const json_t *pods, int64_t attempt, struct strbuf *out)
{
    struct digest_run *run = NULL;
    struct digest d;
    size_t i;
    json_t *pod;
    int r = digest_begin(&run);

    if (r == 0)
        r = digest_add(run, g->key, strlen(g->key) + 1);
    json_array_foreach(pods, i, pod) if (r == 0) r =
        digest_add(run, kubejson_uid(pod), strlen(kubejson_uid(pod)) + 1);
    if (r < 0) {
        (void)digest_drop(run);
        return r;
    }
    r = digest_end(run, &d);
    strbuf_add(out, "kube-");
    for (i = 0; r == 0 && i < DIGEST_SIZE; i++)
        strbuf_addf(out, "%02x", d.bytes[i]);
    strbuf_addf(out, "-%lld", (long long)attempt);
    return r;
}

/* The pods that wait; NULL: one asks for what the bridge does not do, which is told. */
static json_t *gather_waiting(struct gang *g, const struct podgang_view *v)
{
    _cleanup_json_ json_t *waiting = json_array();
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod)
    {
        struct err err = { .text = "" };

        if (!podread_is_waiting(pod))
            continue;
        if (kubematch_check(json_object_get(pod, "spec"), &err) < 0) {
            bridgeact_tell(g, v->pods, "SlurmNotSupported", err.text);
            return NULL;
        }
        (void)json_array_append(waiting, pod);
    }
    return TAKE_PTR(waiting);
}

/* What the pods ask for with their claims; NULL: no memory. */
static json_t *gather_asks(struct bridge *b, const json_t *pods)
{
    _cleanup_json_ json_t *all = json_object();
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        json_t *asks = NULL;

        if (bridgedevice_read(b, pod, &asks, NULL) < 0 ||
            json_object_set_new(all, kubejson_uid(pod), asks) < 0)
            return NULL;
    }
    return TAKE_PTR(all);
}

void bridgesubmit_job(struct gang *g, const struct podgang_view *v)
{
    _cleanup_val_(strbuf_done) struct strbuf name = STRBUF_INIT, key = STRBUF_INIT,
                                             why = STRBUF_INIT;
    _cleanup_json_ json_t *waiting = gather_waiting(g, v), *body = NULL, *others = NULL;
    _cleanup_json_ json_t *root = NULL, *asks = NULL;
    const json_t *first = json_array_get(waiting, 0);
    _cleanup_free_ char *excluded = NULL;
    struct err err = { .text = "" };
    bool missing = false, none = false;
    struct jobmake m;

    if (!first || !bridgevolume_is_open(g, waiting) || !bridgedevice_is_open(g, waiting) ||
        !bridgenear_is_open(g, waiting))
        return;
    root = bridgegroup_root(g->b, first, &missing);
    if (missing && g->owner_waits < OWNER_WAITS) { /* the pod was told before its owner */
        g->owner_waits++;
        bridgegang_wake(g->b, g->key, OWNER_US);
        return;
    }
    asks = root ? gather_asks(g->b, waiting) : NULL;
    if (!asks) {
        g->failed = true;
        return;
    }
    bridgenear_plan(g, waiting);
    others = bridgenear_exclude(g, waiting, &none);
    if (none) { /* woken when pods come or go */
        bridgeact_tell(g, v->pods, "SlurmWaitingForPods",
                       "No node meets what is said of other pods");
        return;
    }
    write_name(first, root, &name);
    excluded = others ? exclusion_of(&g->b->exclusion, g->b->nodes, waiting, others) : NULL;
    g->no_node = excluded && !bridgefit_judge(g, waiting, others, excluded, &why);
    if (g->no_node) { /* woken when nodes change */
        bridgeact_tell(g, v->pods, "SlurmNoNode", strbuf_str(&why));
        return;
    }
    m = (struct jobmake){ .bridge = g->b->o.name,
                          .gang = g->key,
                          .pods = waiting,
                          .root = root,
                          .asks = asks,
                          .name = strbuf_str(&name),
                          .partition = g->b->o.partition,
                          .mcs = g->b->o.mcs,
                          .excluded = excluded,
                          .attempt = podgang_attempt(v->pods),
                          .deadline_s = bridgegroup_deadline_s(g->b, first),
                          .classes = g->b->o.classes,
                          .rules = g->b->o.rules,
                          .identity =
                              bridgeconf_has(g->b->o.identities, kubejson_namespace(first)) };
    if (jobmake_body(&m, &body, &err) < 0) {
        bridgeact_tell(g, v->pods, "SlurmNotSupported", err.text);
        return;
    }
    if (!excluded || write_key(g, waiting, m.attempt, &key) < 0) {
        g->failed = true;
        return;
    }
    bridgeact_count(g, slurmlink_submit(g->b->slurm, body, strbuf_str(&key), take_submitted, g));
    free(g->excluded);
    g->excluded = TAKE_PTR(excluded);
}

/* ---- a job that waits ------------------------------------------------------------------------ */

/* A job that has started meanwhile keeps its nodes: its pods are placed where they are. */
static void take_excluded(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;

    g->requests--;
    if (reply->status == 0 || reply->status >= 500) {
        free(g->excluded);
        g->excluded = NULL; /* sent again */
        g->failed = true;
    }
    if (reply->status != 200)
        log_limited(LOG_VERBOSE, "%s: nodes are not excluded: %d %s", g->key, reply->status,
                    reply->text);
    bridgeact_end(g);
}

/* Nodes have changed since the job was made: tell slurmctld which ones it must not have now. */
void bridgesubmit_exclude(struct gang *g, const struct podgang_view *v)
{
    _cleanup_json_ json_t *body = NULL, *pods = json_array(), *others;
    _cleanup_free_ char *now = NULL;
    bool none;
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod)
    {
        if (podgang_has_pod(v->job, pod))
            (void)json_array_append(pods, pod); /* of none the list is empty */
    }
    others = bridgenear_exclude(g, pods, &none);
    now = others ? exclusion_of(&g->b->exclusion, g->b->nodes, pods, others) : NULL;
    if (!now || strcmp(g->excluded ? g->excluded : v->job->excluded, now) == 0)
        return;
    body = json_pack("{s:s}", "excluded_nodes", now);
    if (!body) {
        g->failed = true;
        return;
    }
    log_info("%s: job %u is not to have the nodes %.200s", g->key, v->job->id, *now ? now : "-");
    free(g->excluded);
    g->excluded = TAKE_PTR(now);
    bridgeact_count(g, slurmlink_update(g->b->slurm, v->job->id, body, take_excluded, g));
}
