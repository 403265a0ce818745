/* bridgeact.c - see bridgeact.h */
#include "kube/bridge/bridgeact.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgegang.h"
#include "kube/claim/podread.h"

#define IN_PART_US INT64_C(500000)

void bridgeact_end(struct gang *g)
{
    if (g->requests || g->deciding)
        return;
    if (g->failed && g->refused_it)
        kubequeue_refuse(g->b->queue, g->key);
    else
        kubequeue_done(g->b->queue, g->key, !g->failed);
    if (g->failed && g->in_part &&
        !g->refused_it) /* nodes are used by some pods, which wait for the others */
        bridgegang_wake(g->b, g->key, IN_PART_US);
}

/* 404: the pod is gone, which its watch tells; 409: it has changed, likewise. */
void bridgeact_take(void *ctx, const struct kubereply *reply)
{
    struct gang *g = ctx;

    g->requests--;
    if ((reply->status < 200 || reply->status > 299) && reply->status != 404) {
        g->failed = true;
        g->refused_it = g->refused_it || kubereply_is_refusal(reply);
        log_limited(LOG_VERBOSE, "%s: %d %s", g->key, reply->status, reply->text);
    }
    bridgeact_end(g);
}

void bridgeact_count(struct gang *g, int r)
{
    if (r == 0)
        g->requests++;
    else
        g->failed = true;
}

void bridgeact_patch(struct gang *g, const json_t *pod, const char *sub, json_t *patch_taken)
{
    const struct kubeapi_target t = { &kubekind_pods, kubejson_namespace(pod), kubejson_name(pod),
                                      sub, true };
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
        bridgeact_count(g, kubeapi_patch(g->b->kube, &t, KUBEAPI_STRATEGIC, patch, NULL, false,
                                         bridgeact_take, g));
}

/* Say once why the pods wait: a condition and an event on each. */
void bridgeact_tell(struct gang *g, const json_t *pods, const char *reason, const char *text)
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
        bridgeact_patch(g, pod, "status",
                        json_pack("{s:{s:[{s:s, s:s, s:s, s:s}]}}", "status", "conditions", "type",
                                  "PodScheduled", "status", "False", "reason", reason, "message",
                                  text));
        kubeevents_tell(g->b->events, pod, false, reason, text);
    }
}
