/* opnodeset.c - a NodeSet: what nsdecide() says is sent
 *
 * The view is made of what informers and slurmrestd told; a pod whose deletion was sent, and not
 * told yet, is shown as one that ends, so that no budget is spent twice. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/nodeset/nsoverdue.h"
#include "kube/nodeset/nspin.h"
#include "kube/nodeset/nsplan.h"
#include "kube/nodeset/nsprune.h"
#include "kube/make/mkworkers.h"
#include "kube/nodeset/nsdecide.h"
#include "kube/operator/opapply.h"
#include "kube/operator/opguard.h"
#include "kube/operator/opclient.h"
#include "kube/make/opkeys.h"
#include "kube/operator/opnodeset.h"
#include "kube/operator/opschedule.h"

/* ---- the view -------------------------------------------------------------------------------- */

struct gather {
    struct opwork *w;
    json_t *pods, *nodes, *revisions, *claims, *records;
};

static bool is_owned(const struct opwork *w, const json_t *object)
{
    const json_t *owner = kubejson_controller(object);

    return owner && strcmp(kubejson_text(owner, "uid"), w->uid) == 0;
}

static void add_pod(void *ctx, const json_t *pod)
{
    struct gather *g = ctx;
    struct kubemap *ending = &g->w->op->ending;
    const int64_t *until = kubemap_get(ending, kubejson_uid(pod));
    json_t *copy;

    if (!is_owned(g->w, pod))
        return;
    if (until && (*until < now_mono_us() || kubejson_is_deleted(pod))) {
        free(kubemap_take(ending, kubejson_uid(pod)));
        until = NULL;
    }
    copy = until ? json_deep_copy(pod) : json_incref((json_t *)(uintptr_t)pod);
    if (copy && until)
        (void)json_object_set_new(json_object_get(copy, "metadata"), "deletionTimestamp",
                                  json_string("1970-01-01T00:00:00Z"));
    (void)mkbase_push(g->pods, copy); /* without memory a pod is not counted: nothing goes */
}

static void add_node(void *ctx, const json_t *node)
{
    struct gather *g = ctx;

    (void)json_object_set(g->nodes, kubejson_name(node), (json_t *)(uintptr_t)node);
}

static void add_revision(void *ctx, const json_t *revision)
{
    struct gather *g = ctx;

    if (is_owned(g->w, revision))
        (void)json_array_append(g->revisions, (json_t *)(uintptr_t)revision);
}

static void add_claim(void *ctx, const json_t *claim)
{
    struct gather *g = ctx;

    if (strcmp(kubejson_namespace(claim), kubejson_namespace(g->w->cr)) == 0)
        (void)json_object_set(g->claims, kubejson_name(claim), (json_t *)(uintptr_t)claim);
}

static void add_record(void *ctx, const json_t *record)
{
    struct gather *g = ctx;

    (void)json_array_append(g->records, (json_t *)(uintptr_t)record); /* or at the next pass */
}

/* What Slurm says of the nodes of the pods. */
static void read_slurm(struct slurmnodes *l, const json_t *pods, json_t *slurm, json_t *missed,
                       json_t *deadlines)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        const char *name = mkworkers_slurm_name(pod);
        const json_t *node = slurmnodes_get(l, name);
        int64_t since = slurmnodes_missed_us(l, name), end = slurmnodes_deadline(l, name);

        if (node)
            (void)json_object_set(slurm, name, (json_t *)(uintptr_t)node);
        else if (since)
            (void)json_object_set_new(missed, name,
                                      json_integer((now_mono_us() - since) / USEC_PER_SEC));
        if (end)
            (void)json_object_set_new(deadlines, name, json_integer(end));
    }
}

/* ---- actions --------------------------------------------------------------------------------- */

/* Why a pod is deleted, as events have it. */
static const char *reason_of(const struct opwork *w, const json_t *act)
{
    const char *why = kubejson_text(act, "why");
    bool failed = strcmp(kubejson_text(json_object_get(act, "pod"), "status.phase"), "Failed") == 0;
    bool daemon = strcmp(kubejson_text(w->cr, "spec.scalingMode"), "DaemonSet") == 0;

    if (strcmp(why, "not registered") == 0)
        return "SlurmNodeNotRegistered";
    if (strcmp(why, "finished") == 0)
        return daemon   ? failed ? "FailedDaemonPod" : "SucceededDaemonPod"
               : failed ? "FailedPod"
                        : "SucceededPod";
    return strcmp(why, "update") == 0 ? "RollingUpdate" : "ScaleIn";
}

static void tell_removal(struct opwork *w, const json_t *act, const char *text)
{
    const char *reason = reason_of(w, act);
    const json_t *pod = json_object_get(act, "pod");
    char whole[400];

    (void)snprintf(whole, sizeof(whole), "Pod %.253s is deleted: %s", kubejson_name(pod), text);
    log_info("%s/%s: %s (%s)", kubejson_namespace(pod), kubejson_name(w->raw), whole, reason);
    kubeevents_tell(w->op->events, w->raw,
                    kubejson_after(reason, "Failed") || kubejson_after(reason, "Slurm"), reason,
                    whole);
}

/* Slurm was asked: the pod goes only with a yes, or when there is no such node. */
static void take_drained(void *ctx, enum slurmnodes_drained answer)
{
    struct oprequest *m = ctx;
    const json_t *pod = json_object_get(m->act, "pod");

    if (answer == SLURMNODES_YES || answer == SLURMNODES_GONE) {
        tell_removal(m->w, m->act,
                     answer == SLURMNODES_YES ? "its node is drained"
                                              : "slurmctld has no such node");
        opapply_delete_pod(m->w, pod, true);
    }
    opapply_end(m);
}

static void remove_pod(struct opwork *w, struct slurmnodes *l, json_t *act)
{
    const json_t *pod = json_object_get(act, "pod");
    struct oprequest *m;

    if (!kubejson_true(act, "ask")) {
        tell_removal(w, act, "it holds no job");
        opapply_delete_pod(w, pod, false);
        return;
    }
    m = l ? opapply_begin(w, NULL, NULL) : NULL;
    if (!m)
        return;
    m->act = json_incref(act);
    if (slurmnodes_ask_drained(l, kubejson_text(act, "name"), take_drained, m) < 0)
        opapply_end(m);
}

/* What was changed of a node in Slurm is told on its pod: who drained it, and why. */
static void tell_node(struct opwork *w, const json_t *act)
{
    const char *state = json_string_value(json_array_get(kubejson_at(act, "body.state"), 0));
    const char *reason = kubejson_text(act, "body.reason");
    char text[600];

    if (!state)
        return; /* features and the like */
    (void)snprintf(text, sizeof(text), "Slurm node %.250s: %s%s%.300s", kubejson_text(act, "name"),
                   state, *reason ? ", " : "", reason);
    kubeevents_tell(w->op->events, json_object_get(act, "pod"), false,
                    strcmp(state, "DRAIN") == 0 ? "SlurmNodeDrain" : "SlurmNodeFreed", text);
}

static void take_change(void *ctx, const struct kubereply *reply)
{
    struct oprequest *m = ctx;
    const char *name = kubejson_text(m->act, "name");
    char text[300];

    if (reply->status >= 400 && !slurmnodes_says_gone(reply)) {
        const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);

        (void)snprintf(text, sizeof(text), "slurmrestd: node %.100s: %.150s", name,
                       kubejson_text(first, "error"));
        m->w->denied = m->w->denied || kubereply_is_slurms(reply);
        opapply_fail(m->w, text);
    } else if (reply->status == 200) {
        tell_node(m->w, m->act);
    }
    opapply_end(m);
}

static void change_node(struct opwork *w, struct slurmnodes *l, json_t *act)
{
    struct oprequest *m = l ? opapply_begin(w, NULL, NULL) : NULL;

    if (!m)
        return;
    m->act = json_incref(act);
    if (slurmnodes_change(l, kubejson_text(act, "name"), json_object_get(act, "body"), take_change,
                          m) < 0)
        opapply_end(m);
}

/* A record that nobody can come back to is deleted: that is told. */
static void take_prune(void *ctx, const struct kubereply *reply)
{
    struct oprequest *m = ctx;
    const char *name = kubejson_text(m->act, "name");
    const json_t *first = json_array_get(json_object_get(reply->body, "errors"), 0);
    char text[400];

    if (reply->status == 200 && !first && !json_object_get(reply->body, "nodes")) {
        (void)snprintf(text, sizeof(text), "Slurm node %.250s: its pod and its node are gone",
                       name);
        log_info("%s/%s: %s", kubejson_namespace(m->w->raw), kubejson_name(m->w->raw), text);
        kubeevents_tell(m->w->op->events, m->w->raw, false, "DefunctSlurmNodePruned", text);
    } else if (reply->status >= 400 && !slurmnodes_says_gone(reply)) {
        (void)snprintf(text, sizeof(text), "slurmrestd: node %.100s: %.150s", name,
                       kubejson_text(first, "error"));
        m->w->denied = m->w->denied || kubereply_is_slurms(reply);
        opapply_fail(m->w, text);
    }
    opapply_end(m);
}

static void prune_record(struct opwork *w, struct slurmnodes *l, json_t *act)
{
    struct oprequest *m = l ? opapply_begin(w, NULL, NULL) : NULL;

    if (!m)
        return;
    m->act = json_incref(act);
    if (slurmnodes_prune(l, kubejson_text(act, "name"), kubejson_text(act, "comment"), take_prune,
                         m) < 0)
        opapply_end(m);
}

static void change_claim(struct opwork *w, const json_t *act)
{
    const json_t *claim = json_object_get(act, "claim"), *body = json_object_get(act, "body");
    char text[400];

    if (body) {
        opapply_patch(w, &opowned_kinds[OPOWNED_CLAIMS], claim, NULL, KUBEAPI_MERGE, body);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "PersistentVolumeClaim %.250s has another controller: it is left as it is",
                   kubejson_name(claim));
    kubeevents_tell(w->op->events, w->raw, true, "ConflictingController", text);
}

/* A pod with its claims, or a claim that is missing. */
static void make_object(struct opwork *w, json_t *pod)
{
    bool alone = strcmp(kubejson_text(pod, "kind"), "Pod") != 0;
    json_t *claims = alone ? NULL : mkworkers_claims(&w->f, pod), *one;
    size_t i;

    json_array_foreach(claims, i, one) opapply_create(w, one);
    json_decref(claims);
    opapply_create(w, pod);
}

static void do_acts(struct opwork *w, struct slurmnodes *l, const json_t *acts)
{
    const struct kubekind *pods = &opowned_kinds[OPOWNED_PODS];
    size_t i;
    json_t *act;

    json_array_foreach(acts, i, act)
    {
        const char *what = kubejson_text(act, "do");
        const json_t *pod = json_object_get(act, "pod"), *body = json_object_get(act, "body");

        if (strcmp(what, "create") == 0)
            make_object(w, json_object_get(act, "object"));
        else if (strcmp(what, "claim") == 0)
            change_claim(w, act);
        else if (strcmp(what, "prune") == 0)
            prune_record(w, l, act);
        else if (strcmp(what, "delete") == 0)
            remove_pod(w, l, act);
        else if (strcmp(what, "patch") == 0)
            opapply_patch(w, pods, pod, NULL, KUBEAPI_MERGE, body);
        else if (strcmp(what, "conditions") == 0)
            opapply_patch(w, pods, pod, "status", KUBEAPI_STRATEGIC, body);
        else if (strcmp(what, "node") == 0)
            change_node(w, l, act);
    }
}

/* ---- history --------------------------------------------------------------------------------- */

static bool is_live(const json_t *pods, const char *revision)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        const char *have = kubejson_label(pod, OPKEY_REVISION);

        if (have && strcmp(have, revision) == 0)
            return true;
    }
    return false;
}

static void keep_history(struct opwork *w, const struct gather *g, const char *revision)
{
    int64_t most = 0, limit = kubejson_int(w->cr, "spec.revisionHistoryLimit", 0), old = 0;
    bool have = false;
    size_t i;
    json_t *one;

    json_array_foreach(g->revisions, i, one)
    {
        const char *hash = kubejson_label(one, OPKEY_REVISION);

        most = MAX(most, kubejson_int(one, "revision", 0));
        have = have || (hash && strcmp(hash, revision) == 0);
        old += hash && strcmp(hash, revision) != 0 && !is_live(g->pods, hash);
    }
    if (!have) {
        _cleanup_json_ json_t *made = mkworkers_history(&w->f, revision, most + 1);

        if (!made || opguard_note(w, made) < 0)
            opapply_fail(w, ERR_NOMEM);
        else
            opapply_create(w, made);
    }
    json_array_foreach(g->revisions, i, one)
    {
        const char *hash = kubejson_label(one, OPKEY_REVISION);

        if (old > limit && hash && strcmp(hash, revision) != 0 && !is_live(g->pods, hash) &&
            !kubejson_is_deleted(one)) {
            opapply_delete(w, &opowned_kinds[OPOWNED_REVISIONS], one);
            old--;
        }
    }
}

/* ---- status ---------------------------------------------------------------------------------- */

static void count_pods(struct opwork *w, const struct slurmnodes *l, const struct nsview *v,
                       const char *revision)
{
    struct nscount c;
    char selector[600], text[300], late[NSOVERDUE_TEXT];
    int64_t wake_s;
    bool overdue, good;

    nsdecide_count(v, &c);
    good = c.available == c.desired && c.updated == c.desired;
    (void)snprintf(selector, sizeof(selector), "%s=slurmd,%s=%s", OPKEY_NAME, OPKEY_INSTANCE,
                   kubejson_name(w->cr));
    w->status =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s}", "replicas", (json_int_t)c.replicas,
                  "updatedReplicas", (json_int_t)c.updated, "readyReplicas", (json_int_t)c.ready,
                  "availableReplicas", (json_int_t)c.available, "unavailableReplicas",
                  (json_int_t)MAX(c.desired - c.available, 0), "desired", (json_int_t)c.desired,
                  "nodeSetHash", revision, "selector", selector);
    if (v->slurm && w->status) {
        (void)json_object_set_new(w->status, "slurmIdle", json_integer(c.idle));
        (void)json_object_set_new(w->status, "slurmAllocated", json_integer(c.allocated));
        (void)json_object_set_new(w->status, "slurmDown", json_integer(c.down));
        (void)json_object_set_new(w->status, "slurmDrain", json_integer(c.drained));
    }
    (void)snprintf(text, sizeof(text),
                   "%lld of %lld workers are available, %lld are as they should",
                   (long long)c.available, (long long)c.desired, (long long)c.updated);
    overdue = nsoverdue_find(v, late, &wake_s);
    if (wake_s && (!w->wake_s || wake_s < w->wake_s))
        w->wake_s = wake_s;
    if (!v->slurm) {
        (void)snprintf(text, sizeof(text), "%s: no worker is drained or deleted meanwhile",
                       slurmnodes_why_unknown(l));
        opwork_say(w, false, c.replicas != c.desired, OPWORK_UNKNOWN, text);
    } else if (overdue) {
        opwork_say(w, good, false, OPWORK_OVERDUE, late);
    } else {
        opwork_say(w, good, c.replicas != c.desired || c.updated != c.desired,
                   good ? "AsDesired" : "Scaling", text);
    }
}

/* Where workers were is kept for those that are made anew. */
static void note_pins(struct opwork *w, const struct nsview *v)
{
    const json_t *have = kubejson_at(w->raw, "status.ordinalToNode");
    bool pins = kubejson_true(w->cr, "spec.pinToNode") &&
                strcmp(kubejson_text(w->cr, "spec.scalingMode"), "DaemonSet") != 0;
    _cleanup_json_ json_t *map = pins ? nspin_map(v) : json_object();
    json_t *patch = map ? nspin_patch(map, have) : NULL;

    if (json_object_size(patch) && w->status)
        (void)json_object_set(w->status, "ordinalToNode", patch); /* or at the next pass */
    json_decref(patch);
}

/* Of our own field: as many workers as jobs would start on. */
static void scale_by_plan(struct opwork *w, struct slurmnodes *l, const struct nsview *v)
{
    int64_t have = kubejson_int(w->cr, "spec.replicas", 1), want, wake_s = 0;
    char text[200];

    if (!nsplan_is_wanted(w->cr) || !l)
        return;
    slurmnodes_want_pending(l);
    want = nsplan_replicas(v, slurmnodes_pending(l), &wake_s);
    if (wake_s && (!w->wake_s || wake_s < w->wake_s))
        w->wake_s = wake_s;
    if (want < 0 || want == have)
        return;
    (void)snprintf(text, sizeof(text), "%lld workers are wanted instead of %lld", (long long)want,
                   (long long)have);
    log_info("%s/%s: %s", kubejson_namespace(w->raw), kubejson_name(w->raw), text);
    kubeevents_tell(w->op->events, w->raw, false, want > have ? "ScaledOut" : "ScaledIn", text);
    opapply_scale(w, want);
}

static void work_on_set(struct opwork *w, struct slurmnodes *l, const struct gather *g)
{
    _cleanup_json_ json_t *slurm = json_object(), *missed = json_object(),
                          *deadlines = json_object(), *acts = NULL;
    bool known = slurmnodes_is_known(l);
    struct nsview v = { .f = &w->f,
                        .pods = g->pods,
                        .nodes = g->nodes,
                        .slurm = known ? slurm : NULL,
                        .missed = missed,
                        .deadlines = deadlines,
                        .claims = g->claims,
                        .records = known ? g->records : NULL,
                        .node_conditions = w->op->o.node_conditions,
                        .patience_s = w->op->o.patience_s,
                        .now_us = now_us() };
    char revision[MKWORKERS_REVISION];
    json_t *shared;

    if (known)
        read_slurm(l, g->pods, slurm, missed, deadlines);
    if (nsprune_is_wanted(w->cr))
        slurmnodes_walk(l, add_record, (void *)(uintptr_t)g);
    mkworkers_revision(w->cr, revision);
    v.revision = revision;
    if (mkworkers_shared(&w->f, &shared) == 0)
        opapply_all(w, shared);
    keep_history(w, g, revision);
    if (nsdecide(&v, &acts, &w->wake_s) < 0)
        opapply_fail(w, ERR_NOMEM);
    else
        do_acts(w, l, acts);
    count_pods(w, l, &v, revision);
    note_pins(w, &v);
    scale_by_plan(w, l, &v);
    opschedule_see(w, l, &v);
}

/* Workers of another Controller: its cluster alone knows whether they are drained. */
static bool has_strangers(const struct opwork *w, const json_t *pods)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod)
    {
        const char *cluster = kubejson_label(pod, OPKEY_CLUSTER);

        if (cluster && strcmp(cluster, kubejson_name(w->controller)) != 0)
            return true;
    }
    return false;
}

void opnodeset_reconcile(struct opwork *w)
{
    struct operator_ *op = w->op;
    struct gather g = { w, json_array(), json_object(), json_array(), json_object(), json_array() };

    if (kubejson_is_deleted(w->raw)) {
        opwork_say(w, false, true, "Deleted", "the NodeSet is being deleted");
        opschedule_end(w, w->controller ? opclient_get(op, &w->f) : NULL);
    } else if (!w->controller) {
        opwork_say(w, false, false, "NoController",
                   "spec.controllerRef: there is no such Controller");
    } else {
        kubeinformer_walk(op->owned[OPOWNED_PODS], add_pod, &g);
        kubeinformer_walk(op->owned[OPOWNED_NODES], add_node, &g);
        kubeinformer_walk(op->owned[OPOWNED_REVISIONS], add_revision, &g);
        if (json_array_size(kubejson_at(w->cr, "spec.volumeClaimTemplates")))
            kubeinformer_walk(op->owned[OPOWNED_CLAIMS], add_claim, &g);
        if (has_strangers(w, g.pods))
            opwork_say(w, false, false, "ControllerChanged",
                       "spec.controllerRef: cannot be changed while workers of the earlier "
                       "Controller are there");
        else
            work_on_set(w, opclient_get(op, &w->f), &g);
    }
    json_decref(g.pods);
    json_decref(g.nodes);
    json_decref(g.revisions);
    json_decref(g.claims);
    json_decref(g.records);
}
