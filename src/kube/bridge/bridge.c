/* bridge.c - see bridge.h
 *
 * An action of a gang is one item of the queue.  It ends when every request that it started was
 * answered, so that no two actions of a gang overlap. */
#include "kube/bridge/bridge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubeapi.h"
#include "kube/api/kubeevent.h"
#include "kube/api/kubeinformer.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubequeue.h"
#include "kube/bridge/bridgeconf.h"
#include "kube/bridge/bridgekeys.h"
#include "kube/bridge/exclusion.h"
#include "kube/bridge/podgang.h"
#include "kube/bridge/jobmake.h"
#include "kube/bridge/podread.h"
#include "kube/bridge/slurmlink.h"

#define SETTLE_US INT64_C(100000) /* pods of a group come one after the other */
#define ASK_US USEC_PER_SEC
#define REASON_US (2 * USEC_PER_SEC)
#define NODES_US USEC_PER_SEC /* nodes change together */
#define OWNER_US INT64_C(500000)
#define OWNER_WAITS 10u /* then the pods are orphans, and have options of their own */
#define ACTIONS_AT_ONCE 64u

const struct kubekind bridge_groups = { "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_native = { "scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_jobsets = { "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true };

struct gang {
    struct bridge *b;
    json_t *uids;         /* of its pods: the members of an object */
    json_t *bad_nodes;    /* of Slurm, which Kubernetes does not know: an array of names */
    uint32_t job_id;      /* 0: none */
    unsigned requests;    /* of the action under way */
    bool deciding;        /* the action starts its requests: it cannot end yet */
    bool failed;          /* one of them */
    unsigned owner_waits; /* how often the job's options were waited for */
    char *told;           /* the last sentence on its pods */
    char *excluded;       /* as slurmctld was told last; NULL: not by us */
    int64_t ask_mono_us;  /* the job's reason is not asked for before */
    char key[];
};

struct bridge {
    struct kubeserver *kube;
    struct bridge_options o;
    struct kubeinformer *pods, *nodes, *jobs;
    struct kubeinformer *groups, *native, *jobsets; /* NULL: the API server does not know them */
    struct slurmlink *slurm;
    struct kubeevents *events;
    struct kubequeue *queue;
    struct kubemap gangs;
    struct kubemap node_names; /* of Slurm to those of Kubernetes, where they differ */
    struct exclusion exclusion;
    struct kubetimer settled; /* nodes have changed: jobs that wait may want others */
    char selector[160];
};

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

static void free_gang(void *gang)
{
    struct gang *g = gang;

    json_decref(g->uids);
    json_decref(g->bad_nodes);
    free(g->told);
    free(g->excluded);
    free(g);
}

/* Does the pod name a group, whether or not the group is there? */
static bool is_native(const struct bridge *b, const json_t *pod)
{
    return b->native && *podread_native_group(pod);
}

static bool is_grouped(const struct bridge *b, const json_t *pod)
{
    const char *name = kubejson_label(pod, BRIDGE_LABEL_PODGROUP);

    return b->groups && name && *name;
}

static const json_t *group_of(const struct bridge *b, const json_t *pod)
{
    if (is_native(b, pod))
        return kubeinformer_by_name(b->native, kubejson_namespace(pod), podread_native_group(pod));
    return is_grouped(b, pod) ? kubeinformer_by_name(b->groups, kubejson_namespace(pod),
                                                     kubejson_label(pod, BRIDGE_LABEL_PODGROUP))
                              : NULL;
}

static bool is_ready(const struct bridge *b)
{
    return slurmlink_is_synced(b->slurm) && kubeinformer_is_synced(b->pods) &&
           kubeinformer_is_synced(b->nodes) && kubeinformer_is_synced(b->jobs) &&
           (!b->groups || kubeinformer_is_synced(b->groups)) &&
           (!b->native || kubeinformer_is_synced(b->native)) &&
           (!b->jobsets || kubeinformer_is_synced(b->jobsets));
}

static void wake_gang(struct bridge *b, const char *key, int64_t after_us)
{
    if ((after_us ? kubequeue_add_after(b->queue, key, after_us) : kubequeue_add(b->queue, key)) <
        0)
        log_error("out of memory: %s waits for its next change", key);
}

static void wake_one(void *ctx, const char *key, void *gang)
{
    (void)gang;
    wake_gang(ctx, key, 0);
}

static void wake_all(void *ctx)
{
    struct bridge *b = ctx;

    if (is_ready(b))
        kubemap_walk(&b->gangs, wake_one, b);
}

static void take_pod(void *ctx, const json_t *before, const json_t *now)
{
    struct bridge *b = ctx;
    const json_t *pod = now ? now : before;
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;
    struct gang *g;

    podread_gang(pod, is_grouped(b, pod), is_native(b, pod), &key);
    g = key.failed ? NULL : find_gang(b, strbuf_str(&key));
    if (!g)
        return;
    if (now)
        (void)json_object_set_new(g->uids, kubejson_uid(pod), json_true());
    else
        (void)json_object_del(g->uids, kubejson_uid(pod)); /* it may have gone before */
    if (is_ready(b))
        wake_gang(b, g->key, now && !before && strncmp(g->key, "pod/", 4) != 0 ? SETTLE_US : 0);
}

/* Of the gangs only those whose job waits have something to change. */
static void wake_waiting(void *ctx, const char *key, void *gang)
{
    struct bridge *b = ctx;
    const struct gang *g = gang;
    const struct slurmjob *job = g->job_id ? slurmlink_job(b->slurm, g->job_id) : NULL;

    if (job && job->state == SLURMJOB_PENDING)
        wake_gang(b, key, 0);
}

static void look_at_waiting(void *ctx)
{
    struct bridge *b = ctx;

    if (is_ready(b))
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
    if (is_ready(b) && kubemap_get(&b->gangs, strbuf_str(&key)))
        wake_gang(b, strbuf_str(&key), 0);
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
        if (is_ready(b))
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
    if (is_ready(b))
        wake_gang(b, g->key, 0);
}

/* ---- requests of an action ------------------------------------------------------------------- */

static void end_action(struct gang *g)
{
    if (!g->requests && !g->deciding)
        kubequeue_done(g->b->queue, g->key, !g->failed);
}

/* 404: the pod is gone, which its watch tells; 409: it has changed, likewise. */
static void take_reply(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;

    g->requests--;
    if ((reply->status < 200 || reply->status > 299) && reply->status != 404) {
        g->failed = true;
        log_limited(LOG_VERBOSE, "%s: %d %s", g->key, reply->status, reply->text);
    }
    end_action(g);
}

static void count_request(struct gang *g, int r)
{
    if (r == 0)
        g->requests++;
    else
        g->failed = true;
}

static void patch_pod(struct gang *g, const json_t *pod, const char *sub, json_t *patch_taken)
{
    const struct kubeapi_target t = { &kubekind_pods, kubejson_namespace(pod), kubejson_name(pod),
                                      sub };
    _cleanup_json_ json_t *patch = patch_taken;
    json_t *meta = patch ? json_object_get(patch, "metadata") : NULL;

    if (patch && !meta) {
        meta = json_object();
        (void)json_object_set_new(patch, "metadata", meta);
    }
    /* Only this pod, not one that was made again under its name. */
    if (!meta || json_object_set_new(meta, "uid", json_string(kubejson_uid(pod))) < 0)
        g->failed = true;
    else
        count_request(
            g, kubeapi_patch(g->b->kube, &t, KUBEAPI_STRATEGIC, patch, NULL, false, take_reply, g));
}

/* Say once why the pods wait: a condition and an event on each. */
static void tell_pods(struct gang *g, const json_t *pods, const char *reason, const char *text)
{
    size_t i;
    json_t *pod;
    char *copy;

    if (g->told && strcmp(g->told, text) == 0)
        return;
    copy = strdup(text);
    if (!copy)
        return;
    free(g->told);
    g->told = copy;
    json_array_foreach(pods, i, pod)
    {
        if (!podread_is_waiting(pod))
            continue;
        patch_pod(g, pod, "status",
                  json_pack("{s:{s:[{s:s, s:s, s:s, s:s}]}}", "status", "conditions", "type",
                            "PodScheduled", "status", "False", "reason", reason, "message", text));
        kubeevents_tell(g->b->events, pod, false, reason, text);
    }
}

/* ---- actions --------------------------------------------------------------------------------- */

static void mark_pods(struct gang *g, const json_t *pods, const struct slurmjob *job)
{
    char id[16];
    size_t i;
    json_t *pod;

    (void)snprintf(id, sizeof(id), "%u", job->id);
    json_array_foreach(pods, i, pod) if (podgang_has_pod(job, pod) && podread_is_waiting(pod) &&
                                         !podgang_is_marked(job, pod))
        patch_pod(g, pod, NULL,
                  json_pack("{s:{s:{s:s}, s:[s]}}", "metadata", "labels", BRIDGE_LABEL_JOB, id,
                            "finalizers", BRIDGE_FINALIZER));
}

static void release_pods(struct gang *g, const struct podgang_view *v)
{
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod) if (podgang_lets_go(v, pod))
        patch_pod(g, pod, NULL,
                  json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers",
                            BRIDGE_FINALIZER));
}

static void give_up(struct gang *g, const struct podgang_view *v, const char *why)
{
    char attempt[24];
    size_t i;
    json_t *pod;

    log_info("%s: job %u is given up: %s", g->key, v->job->id, why);
    (void)snprintf(attempt, sizeof(attempt), "%lld", (long long)podgang_attempt(v->pods) + 1);
    json_array_foreach(v->pods, i, pod) if (!podread_is_over(pod)) patch_pod(
        g, pod, NULL,
        json_pack("{s:{s:{s:s}}}", "metadata", "annotations", BRIDGE_NOTE_ATTEMPT, attempt));
}

static void delete_pods(struct gang *g, const struct podgang_view *v)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t i;
    json_t *pod;

    strbuf_addf(&text, "Slurm job %u has ended: %s", v->job->id,
                v->job->word ? v->job->word : "it is not known any more");
    json_array_foreach(v->pods, i, pod)
    {
        const struct kubeapi_target t = { &kubekind_pods, kubejson_namespace(pod),
                                          kubejson_name(pod), NULL };

        if (podread_is_over(pod) || kubejson_is_deleted(pod) ||
            (v->job->comment ? !podgang_has_pod(v->job, pod) : !podgang_is_marked(v->job, pod)))
            continue;
        kubeevents_tell(g->b->events, pod, true, "SlurmJobEnded", strbuf_str(&text));
        count_request(g,
                      kubeapi_delete(g->b->kube, &t, kubejson_uid(pod), NULL, -1, take_reply, g));
    }
}

/* The node of Kubernetes that Slurm calls so; NULL: there is none. */
static const char *node_of(const struct bridge *b, const char *name)
{
    const char *other = kubemap_get(&b->node_names, name);
    const json_t *node = kubeinformer_by_name(b->nodes, "", other ? other : name);

    if (!node || (!other && kubejson_label(node, BRIDGE_LABEL_NODE) &&
                  strcmp(kubejson_label(node, BRIDGE_LABEL_NODE), name) != 0))
        return NULL;
    return kubejson_name(node);
}

static bool is_used(const json_t *pods, const struct slurmjob *job, const char *node)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i,
                       pod) if (podgang_has_pod(job, pod) &&
                                strcmp(kubejson_text(pod, "spec.nodeName"), node) == 0) return true;
    return false;
}

/* The job's nodes as Kubernetes names them, without those that its pods have.  A node that
 * Kubernetes does not know is noted in bad_nodes, and NULL is given. */
static json_t *free_nodes(struct gang *g, const struct podgang_view *v)
{
    _cleanup_(hostlist_free) struct hostlist *names = NULL;
    _cleanup_json_ json_t *nodes = json_array();
    bool bad = false;

    if (hostlist_parse(v->job->nodes, &names, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < hostlist_count(names); i++) {
        const char *node = node_of(g->b, hostlist_nth(names, i));

        if (!node) {
            bad = true;
            (void)json_array_append_new(g->bad_nodes, json_string(hostlist_nth(names, i)));
        } else if (!is_used(v->pods, v->job, node)) {
            (void)json_array_append_new(nodes, json_string(node));
        }
    }
    return bad ? NULL : TAKE_PTR(nodes);
}

static void place_pods(struct gang *g, const struct podgang_view *v)
{
    _cleanup_json_ json_t *nodes = free_nodes(g, v);
    size_t i, next = 0;
    json_t *pod;

    if (!nodes) {
        give_up(g, v, "it has a node that Kubernetes does not know");
        return;
    }
    json_array_foreach(v->pods, i, pod)
    {
        const char *node = json_string_value(json_array_get(nodes, next));
        _cleanup_json_ json_t *note = NULL;

        if (!node || !podread_is_waiting(pod) || !podgang_has_pod(v->job, pod))
            continue;
        next++;
        note = json_pack("{s:s}", BRIDGE_NOTE_NODE, node);
        count_request(g, kubeapi_bind(g->b->kube, kubejson_namespace(pod), kubejson_name(pod),
                                      kubejson_uid(pod), node, note, take_reply, g));
    }
}

/* ---- submitting ------------------------------------------------------------------------------ */

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
        if (!slurmlink_job(g->b->slurm, g->job_id))
            (void)slurmlink_ask(g->b->slurm, g->job_id); /* its stream tells it too */
    } else {
        g->failed = true; /* sent again with the same key */
        log_limited(LOG_ERROR, "%s: no job was made: %d %s", g->key, reply->status,
                    first ? kubejson_text(first, "error") : reply->text);
        if (first && reply->status && (pods = json_array())) {
            const char *uid;
            json_t *one;

            strbuf_addf(&text, "Slurm refuses the job: %s", kubejson_text(first, "error"));
            json_object_foreach(g->uids, uid, one)(void)
                json_array_append(pods, (json_t *)(uintptr_t)kubeinformer_by_uid(g->b->pods, uid));
            tell_pods(g, pods, "SlurmRefused", strbuf_str(&text));
            json_decref(pods);
        }
    }
    end_action(g);
}

static bool is_owned_by(const json_t *object, const struct kubekind *kind)
{
    const json_t *owner = kubejson_controller(object);
    const char *version = kubejson_text(owner, "apiVersion");
    size_t n = strlen(kind->group);

    return strcmp(kubejson_text(owner, "kind"), kind->kind) == 0 &&
           strncmp(version, kind->group, n) == 0 && version[n] == '/';
}

/* The controller of an object when it is of the kind, and the very one that is there.  *missing is
 * set when there is none yet. */
static const json_t *owner_of(const struct kubeinformer *owners, const struct kubekind *kind,
                              const json_t *object, bool *missing)
{
    const json_t *owner = kubejson_controller(object), *found;

    if (!owners || !is_owned_by(object, kind))
        return NULL;
    found = kubeinformer_by_name(owners, kubejson_namespace(object), kubejson_text(owner, "name"));
    if (found && strcmp(kubejson_uid(found), kubejson_text(owner, "uid")) == 0)
        return found;
    *missing = true;
    return NULL;
}

/* The object whose annotations are the job's options. */
static const json_t *root_of(const struct bridge *b, const json_t *pod, bool *missing)
{
    const json_t *group = group_of(b, pod), *job, *set;

    if (group)
        return group;
    job = owner_of(b->jobs, &kubekind_jobs, pod, missing);
    set = job ? owner_of(b->jobsets, &bridge_jobsets, job, missing) : NULL;
    return set ? set : job ? job : pod;
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
        const char *why = podread_is_waiting(pod) ? podread_refusal(pod) : NULL;

        if (why) {
            tell_pods(g, v->pods, "SlurmNotSupported", why);
            return NULL;
        }
        if (podread_is_waiting(pod))
            (void)json_array_append(waiting, pod);
    }
    return TAKE_PTR(waiting);
}

static void submit_job(struct gang *g, const struct podgang_view *v)
{
    _cleanup_val_(strbuf_done) struct strbuf name = STRBUF_INIT, key = STRBUF_INIT;
    _cleanup_json_ json_t *waiting = gather_waiting(g, v), *body = NULL;
    const json_t *first = json_array_get(waiting, 0), *root;
    _cleanup_free_ char *excluded = NULL;
    struct err err = { .text = "" };
    bool missing = false;
    struct jobmake m;

    if (!first)
        return;
    root = root_of(g->b, first, &missing);
    if (missing && g->owner_waits < OWNER_WAITS) { /* the pod was told before its owner */
        g->owner_waits++;
        wake_gang(g->b, g->key, OWNER_US);
        return;
    }
    write_name(first, root, &name);
    excluded = exclusion_of(&g->b->exclusion, g->b->nodes, waiting, g->bad_nodes);
    m = (struct jobmake){ .gang = g->key,
                          .pods = waiting,
                          .root = root,
                          .name = strbuf_str(&name),
                          .partition = g->b->o.partition,
                          .mcs = g->b->o.mcs,
                          .excluded = excluded,
                          .attempt = podgang_attempt(v->pods),
                          .identity =
                              bridgeconf_has(g->b->o.identities, kubejson_namespace(first)) };
    if (jobmake_body(&m, &body, &err) < 0) {
        tell_pods(g, v->pods, "SlurmNotSupported", err.text);
        return;
    }
    if (!excluded || write_key(g, waiting, m.attempt, &key) < 0) {
        g->failed = true;
        return;
    }
    count_request(g, slurmlink_submit(g->b->slurm, body, strbuf_str(&key), take_submitted, g));
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
    end_action(g);
}

/* Nodes have changed since the job was made: tell slurmctld which ones it must not have now. */
static void exclude_anew(struct gang *g, const struct podgang_view *v)
{
    _cleanup_json_ json_t *body = NULL, *pods = json_array();
    _cleanup_free_ char *now = NULL;
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod)
    {
        if (podgang_has_pod(v->job, pod))
            (void)json_array_append(pods, pod); /* of none the list is empty */
    }
    now = exclusion_of(&g->b->exclusion, g->b->nodes, pods, g->bad_nodes);
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
    count_request(g, slurmlink_update(g->b->slurm, v->job->id, body, take_excluded, g));
}

/* ---- the next action ------------------------------------------------------------------------- */

static int64_t least_pods(const struct bridge *b, const json_t *pods)
{
    const json_t *first = json_array_get(pods, 0);
    const char *size = first ? kubejson_annotation(first, BRIDGE_NOTE_LWS_SIZE) : NULL;
    int64_t n;

    if (!first)
        return 1;
    if (is_native(b, first)) {
        const json_t *group = group_of(b, first);

        return group ? MAX(1, kubejson_int(group, "spec.schedulingPolicy.gang.minCount", 1))
                     : INT64_MAX;
    }
    if (is_grouped(b, first)) {
        const json_t *group = group_of(b, first);

        return group ? MAX(1, kubejson_int(group, "spec.minMember", 1)) : INT64_MAX;
    }
    if (kubejson_label(first, BRIDGE_LABEL_LWS_KEY))
        return size && parse_i64(size, 1, INT32_MAX, &n) == 0 ? n : INT64_MAX;
    return 1;
}

/* The scheduler says why a job waits some time after it was submitted, without an event. */
static void ask_reason(struct gang *g, const struct slurmjob *job)
{
    int64_t now = now_mono_us();

    if (now >= g->ask_mono_us) {
        g->ask_mono_us = now + REASON_US;
        (void)slurmlink_ask(g->b->slurm, job->id); /* asked again after the pause */
    }
    wake_gang(g->b, g->key, REASON_US);
}

static void tell_pending(struct gang *g, const struct podgang_view *v)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    char stamp[40];

    if (!v->job || v->job->state != SLURMJOB_PENDING)
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
    tell_pods(g, v->pods, "SlurmPending", strbuf_str(&text));
}

static void do_action(struct gang *g, const struct podgang_view *v)
{
    char text[80];

    switch (podgang_decide(v)) {
    case GANG_WAIT:
        (void)snprintf(text, sizeof(text), "The group has fewer pods than it needs");
        tell_pods(g, v->pods, "SlurmWaitingForPods", text);
        break;
    case GANG_SUBMIT:
        submit_job(g, v);
        break;
    case GANG_ASK:
        (void)slurmlink_ask(g->b->slurm, v->job->id); /* asked again after the pause */
        wake_gang(g->b, g->key, ASK_US);
        break;
    case GANG_CANCEL:
        count_request(g, slurmlink_cancel(g->b->slurm, v->job->id, take_reply, g));
        break;
    case GANG_GIVE_UP:
        give_up(g, v, "its pods are not all there any more");
        break;
    case GANG_MARK:
        mark_pods(g, v->pods, v->job);
        break;
    case GANG_PLACE:
        place_pods(g, v);
        break;
    case GANG_END:
        delete_pods(g, v);
        break;
    case GANG_AGAIN:
        slurmlink_forget(g->b->slurm, v->job->id);
        g->job_id = 0;
        wake_gang(g->b, g->key, 0);
        break;
    case GANG_REST:
        if (v->job && v->job->state == SLURMJOB_PENDING && v->job->comment)
            exclude_anew(g, v);
        tell_pending(g, v);
        break;
    }
}

static json_t *gather_pods(const struct gang *g)
{
    json_t *pods = json_array(), *one;
    const char *uid;

    json_object_foreach(g->uids, uid, one)
    {
        const json_t *pod = kubeinformer_by_uid(g->b->pods, uid);

        if (pod && pods)
            (void)json_array_append(pods, (json_t *)(uintptr_t)pod); /* a reference, not a change */
    }
    podgang_sort(pods);
    return pods;
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

        if (podread_is_bound(pod) && !podread_is_over(pod) && label &&
            parse_u64(label, 1, UINT32_MAX, &id) == 0 &&
            slurmlink_ask(g->b->slurm, (uint32_t)id) == 0) {
            g->job_id = (uint32_t)id;
            return;
        }
    }
}

static void work_on(void *ctx, const char *key)
{
    struct bridge *b = ctx;
    struct gang *g = kubemap_get(&b->gangs, key);
    _cleanup_json_ json_t *pods = NULL;
    struct podgang_view v;

    if (!g || !is_ready(b)) {
        kubequeue_done(b->queue, key, true); /* all are woken when everything is known */
        return;
    }
    pods = gather_pods(g);
    if (!g->job_id)
        adopt_label(g, pods);
    v = (struct podgang_view){ pods, least_pods(b, pods),
                               g->job_id ? slurmlink_job(b->slurm, g->job_id) : NULL };
    g->failed = false;
    g->deciding = true;
    release_pods(g, &v);
    if (g->job_id && !v.job) {
        (void)slurmlink_ask(b->slurm, g->job_id); /* asked again after the pause */
        wake_gang(b, key, ASK_US);
    } else
        do_action(g, &v);
    g->deciding = false;
    if (!g->requests && !g->job_id && json_object_size(g->uids) == 0 && !g->failed) {
        (void)kubemap_take(&b->gangs, g->key);
        kubequeue_done(b->queue, g->key, true);
        free_gang(g);
        return;
    }
    end_action(g);
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
    r = kubequeue_new(kubeserver_loop(kube), &q, work_on, b, &b->queue);
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
    kubemap_done(&b->gangs, free_gang);
    kubemap_done(&b->node_names, free);
    exclusion_forget(&b->exclusion);
    free(b);
    return NULL;
}
