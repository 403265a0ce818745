/* bridgeplace.c - see bridgeplace.h */
#include "kube/bridge/bridgeplace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgedevice.h"
#include "kube/bridge/bridgegang.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/bridgeleave.h"
#include "kube/bridge/bridgenear.h"
#include "kube/bridge/bridgevolume.h"
#include "kube/claim/podread.h"

/* Label and finalizer; and the toleration, which a pod has not that no webhook has seen. */
static json_t *make_mark(const struct bridge *b, const json_t *pod, const struct slurmjob *job)
{
    char id[16];
    json_t *patch, *list = NULL;

    (void)snprintf(id, sizeof(id), "%u", job->id);
    patch = json_pack("{s:{s:{s:s}, s:[s]}}", "metadata", "labels", BRIDGE_LABEL_JOB, id,
                      "finalizers", BRIDGE_FINALIZER);
    if (b->o.taint && !podread_tolerates_own(pod, b->o.scheduler))
        list = json_pack("{s:o}", "tolerations", podread_tolerations(pod, b->o.scheduler));
    if (list && json_object_set_new(patch, "spec", list) < 0) {
        json_decref(patch);
        return NULL;
    }
    return patch;
}

void bridgeplace_mark(struct gang *g, const json_t *pods, const struct slurmjob *job)
{
    size_t i;
    json_t *pod;

    json_array_foreach(pods, i, pod) if (podgang_has_pod(job, pod) && podread_is_waiting(pod) &&
                                         !podgang_is_marked(job, pod))
        bridgeact_patch(g, pod, NULL, make_mark(g->b, pod, job));
}

void bridgeplace_release(struct gang *g, const struct podgang_view *v)
{
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod) if (podgang_lets_go(v, pod))
        bridgeact_patch(g, pod, NULL,
                        json_pack("{s:{s:[s]}}", "metadata", "$deleteFromPrimitiveList/finalizers",
                                  BRIDGE_FINALIZER));
}

void bridgeplace_give_up(struct gang *g, const struct podgang_view *v, const char *why)
{
    char attempt[24], text[400];
    size_t i;
    json_t *pod;

    log_info("%s: job %u is given up: %s", g->key, v->job->id, why);
    (void)snprintf(attempt, sizeof(attempt), "%lld", (long long)podgang_attempt(v->pods) + 1);
    (void)snprintf(text, sizeof(text), "Slurm job %u is given up: %s", v->job->id, why);
    json_array_foreach(v->pods, i, pod)
    {
        if (podread_is_over(pod))
            continue;
        kubeevents_tell(g->b->events, pod, true, "SlurmJobGivenUp", text);
        bridgeact_patch(
            g, pod, NULL,
            json_pack("{s:{s:{s:s}}}", "metadata", "annotations", BRIDGE_NOTE_ATTEMPT, attempt));
    }
}

void bridgeplace_delete(struct gang *g, const struct podgang_view *v)
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
        bridgeact_count(
            g, kubeapi_delete(g->b->kube, &t, kubejson_uid(pod), NULL, -1, bridgeact_take, g));
    }
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
        const char *node = bridgegang_node(g->b, hostlist_nth(names, i));

        if (!node) {
            bad = true;
            (void)json_array_append_new(g->bad_nodes, json_string(hostlist_nth(names, i)));
        } else if (!is_used(v->pods, v->job, node)) {
            (void)json_array_append_new(nodes, json_string(node));
        }
    }
    return bad ? NULL : TAKE_PTR(nodes);
}

/* Pods that wait, and the nodes that are left, both in order: objects {pod, node}. */
static json_t *match_nodes(const struct podgang_view *v, const json_t *nodes)
{
    json_t *places = json_array(), *pod;
    size_t i, next = 0;

    json_array_foreach(v->pods, i, pod)
    {
        json_t *node = json_array_get(nodes, next);

        if (!node || !podread_is_waiting(pod) || !podgang_has_pod(v->job, pod))
            continue;
        next++;
        if (json_array_append_new(places, json_pack("{s:O, s:O}", "pod", pod, "node", node)) < 0) {
            json_decref(places);
            return NULL;
        }
    }
    return places;
}

static bool has_bound(const struct podgang_view *v)
{
    size_t i;
    json_t *pod;

    json_array_foreach(v->pods, i, pod)
    {
        if (podgang_has_pod(v->job, pod) && podread_is_bound(pod))
            return true;
    }
    return false;
}

/* May the pods be beside those that are there now?  Once one is bound, the others follow it. */
static enum bridgenear_answer may_stay(struct gang *g, const struct podgang_view *v,
                                       const json_t *places)
{
    _cleanup_json_ json_t *pods = json_array();
    size_t i;
    json_t *one;

    if (has_bound(v))
        return BRIDGENEAR_YES;
    json_array_foreach(places, i, one)(void) json_array_append(pods, json_object_get(one, "pod"));
    return bridgenear_judge(g, pods, places);
}

/* A binding that is refused is tried again, and the pods say why. */
static void take_bound(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;
    const char *said = kubejson_text(reply->body, "message");
    char text[400];

    if (reply->status >= 400 && reply->status < 500 && reply->status != 404 &&
        reply->status != 409) {
        (void)snprintf(text, sizeof(text), "The API server refuses the binding: %.340s",
                       *said ? said : reply->text);
        free(g->refused);
        g->refused = strdup(text); /* without memory nothing is told */
    }
    g->in_part = g->in_part || (reply->status >= 200 && reply->status <= 299);
    bridgeact_take(g, reply);
}

void bridgeplace_bind(struct gang *g, const struct podgang_view *v)
{
    _cleanup_json_ json_t *nodes = free_nodes(g, v), *places = NULL;
    size_t i;
    json_t *one;

    if (!nodes) {
        bridgeplace_give_up(g, v, "it has a node that Kubernetes does not know");
        return;
    }
    places = match_nodes(v, nodes);
    switch (may_stay(g, v, places)) {
    case BRIDGENEAR_YES:
        break;
    case BRIDGENEAR_LATER:
        if (bridgegang_is_overdue(g, BRIDGEWAIT_NEAR))
            bridgeplace_give_up(g, v, "what other pods there are is not known");
        else
            bridgegang_wake(g->b, g->key, g->b->o.wait_us / 10); /* and when it is known */
        return;
    case BRIDGENEAR_NO:
        bridgeplace_give_up(g, v, "its pods may not be beside those that are there now");
        return;
    }
    switch (places ? bridgevolume_place(g, places) : BRIDGEVOLUME_WAIT) {
    case BRIDGEVOLUME_READY:
        break;
    case BRIDGEVOLUME_WAIT:
        bridgeact_tell(g, v->pods, "SlurmWaitingForVolumes",
                       "Volumes are made for the pods' nodes");
        return;
    case BRIDGEVOLUME_BAD:
        if (!has_bound(v))
            bridgeplace_give_up(g, v, "a volume cannot be had on its node");
        else /* those that are bound stay where they are */
            bridgeact_tell(g, v->pods, "SlurmWaitingForVolumes",
                           "A volume cannot be had on the pod's node");
        return;
    }
    if (!has_bound(v) && !bridgeleave_is_done(g, v->pods, places))
        return;
    switch (bridgedevice_place(g, v->job, v->pods, places)) {
    case BRIDGEVOLUME_READY:
        break;
    case BRIDGEVOLUME_WAIT:
        return;
    case BRIDGEVOLUME_BAD:
        if (!has_bound(v))
            bridgeplace_give_up(g, v, "a device cannot be had on its node");
        return;
    }
    if (g->refused && g->sent_job == v->job->id)
        bridgeact_tell(g, v->pods, "SlurmBindingRefused", g->refused);
    if (bridgegang_is_overdue(g, BRIDGEWAIT_BINDING) && !has_bound(v)) {
        bridgeplace_give_up(g, v, "its pods could not be bound");
        return;
    }
    g->in_part = has_bound(v);
    g->sent_job = v->job->id;
    g->sent_mono_us = now_mono_us();
    json_array_foreach(places, i, one)
    {
        const json_t *pod = json_object_get(one, "pod");
        const char *node = kubejson_text(one, "node");
        _cleanup_json_ json_t *note = NULL;

        bridgenear_give(g->b, pod, node);
        note = json_pack("{s:s}", BRIDGE_NOTE_NODE, node);
        bridgeact_count(g, kubeapi_bind(g->b->kube, kubejson_namespace(pod), kubejson_name(pod),
                                        kubejson_uid(pod), node, note, take_bound, g));
    }
}
