/* bridgegang.c - see bridgegang.h */
#include "kube/bridge/bridgegang.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"
#include "kube/claim/podread.h"

#define SILENCE_US (60 * USEC_PER_SEC)

struct gang *bridgegang_find(struct bridge *b, const char *key)
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
    g->asked_claims = json_object();
    if (!g->uids || !g->bad_nodes || !g->asked_claims || kubemap_put(&b->gangs, key, g) < 0) {
        json_decref(g->uids);
        json_decref(g->bad_nodes);
        json_decref(g->asked_claims);
        free(g);
        return NULL;
    }
    return g;
}

void bridgegang_free(void *gang)
{
    struct gang *g = gang;

    json_decref(g->uids);
    json_decref(g->bad_nodes);
    json_decref(g->asked_claims);
    json_decref(g->layout);
    free(g->told);
    free(g->excluded);
    free(g->refused);
    free(g);
}

/* The node of Kubernetes that Slurm calls so; NULL: there is none. */
const char *bridgegang_node(const struct bridge *b, const char *name)
{
    const char *other = kubemap_get(&b->node_names, name);
    const json_t *node = kubeinformer_by_name(b->nodes, "", other ? other : name);

    if (!node || (!other && kubejson_label(node, BRIDGE_LABEL_NODE) &&
                  strcmp(kubejson_label(node, BRIDGE_LABEL_NODE), name) != 0))
        return NULL;
    return kubejson_name(node);
}

static bool is_whole(const struct kubeinformer *i)
{
    return i && kubeinformer_is_synced(i);
}

bool bridgegang_is_deaf(const struct bridge *b)
{
    return is_whole(b->pods) && slurmlink_silence_us(b->slurm) > MIN(SILENCE_US, b->o.wait_us);
}

bool bridgegang_is_ready(const struct bridge *b)
{
    return slurmlink_is_synced(b->slurm) && is_whole(b->pods) && is_whole(b->nodes) &&
           is_whole(b->jobs) && is_whole(b->claims) && is_whole(b->volumes) &&
           is_whole(b->classes) && (!b->groups || is_whole(b->groups)) &&
           (!b->native || is_whole(b->native)) && (!b->jobsets || is_whole(b->jobsets)) &&
           (!b->workloads || is_whole(b->workloads)) &&
           (!b->o.devices ||
            (is_whole(b->device_claims) && is_whole(b->slices) && is_whole(b->device_classes)));
}

bool bridgegang_is_in_part(const struct gang *g)
{
    bool bound = false, waits = false;
    const char *uid;
    json_t *one;

    json_object_foreach(g->uids, uid, one)
    {
        const json_t *pod = kubeinformer_by_uid(g->b->pods, uid);

        bound = bound || (pod && podread_is_bound(pod) && !podread_is_over(pod));
        waits = waits || (pod && podread_is_waiting(pod));
    }
    return bound && waits;
}

void bridgegang_note_bad(struct gang *g, const char *node)
{
    const json_t *object = kubeinformer_by_name(g->b->nodes, "", node);
    const char *label = object ? kubejson_label(object, BRIDGE_LABEL_NODE) : NULL;

    (void)json_array_append_new(g->bad_nodes, json_string(label ? label : node));
}

bool bridgegang_is_overdue(struct gang *g, enum bridgewait what)
{
    int64_t now = now_mono_us();

    if (!g->waits[what].since_us || g->waits[what].job != g->job_id) {
        g->waits[what].job = g->job_id;
        g->waits[what].since_us = now;
    }
    return now - g->waits[what].since_us > g->b->o.wait_us;
}

void bridgegang_end_wait(struct gang *g, enum bridgewait what)
{
    g->waits[what].since_us = 0;
}

void bridgegang_wake(struct bridge *b, const char *key, int64_t after_us)
{
    if ((after_us ? kubequeue_add_after(b->queue, key, after_us) : kubequeue_add(b->queue, key)) <
        0)
        log_nomem("%s waits for its next change", key);
}
