/* bridgeleave.c - see bridgeleave.h */
#include "kube/bridge/bridgeleave.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/bridge/bridgeact.h"
#include "kube/bridge/bridgegang.h"
#include "kube/bridge/podread.h"

static bool is_leaving(const json_t *pod)
{
    return pod && podread_is_bound(pod) && kubejson_is_deleted(pod) && !podread_is_over(pod);
}

static void unref_entry(void *entry)
{
    json_decref(entry);
}

void bridgeleave_stop(struct bridge *b)
{
    kubemap_done(&b->leaving, unref_entry);
}

static void add_leaver(struct bridge *b, const json_t *pod)
{
    const char *node = kubejson_text(pod, "spec.nodeName");
    json_t *entry = kubemap_get(&b->leaving, node);

    if (!entry) {
        entry = json_pack("{s:{}, s:{}}", "pods", "gangs");
        if (!entry || kubemap_put(&b->leaving, node, entry) < 0) {
            json_decref(entry); /* the kubelet decides then */
            return;
        }
    }
    (void)json_object_set_new(json_object_get(entry, "pods"), kubejson_uid(pod), json_true());
}

static void drop_leaver(struct bridge *b, const json_t *pod)
{
    const char *node = kubejson_text(pod, "spec.nodeName"), *gang;
    json_t *entry = kubemap_get(&b->leaving, node), *value;

    (void)json_object_del(json_object_get(entry, "pods"), kubejson_uid(pod));
    if (!entry || json_object_size(json_object_get(entry, "pods")))
        return;
    (void)kubemap_take(&b->leaving, node);
    json_object_foreach(json_object_get(entry, "gangs"), gang, value) bridgegang_wake(b, gang, 0);
    json_decref(entry);
}

void bridgeleave_see(struct bridge *b, const json_t *before, const json_t *now)
{
    bool was = is_leaving(before), is = is_leaving(now);

    if (is && !was)
        add_leaver(b, now);
    else if (was && !is)
        drop_leaver(b, before);
}

bool bridgeleave_is_done(struct gang *g, const json_t *pods, const json_t *places)
{
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t i;
    json_t *one;

    json_array_foreach(places, i, one)
    {
        const char *node = kubejson_text(one, "node");
        json_t *entry = kubemap_get(&g->b->leaving, node);

        if (!entry)
            continue;
        (void)json_object_set_new(json_object_get(entry, "gangs"), g->key, json_true());
        if (!text.len)
            strbuf_addf(&text, "Another pod is being ended on node %s", node);
    }
    if (!text.len) {
        g->leaving_mono_us = 0;
        return true;
    }
    if (!g->leaving_mono_us)
        g->leaving_mono_us = now_mono_us();
    if (now_mono_us() - g->leaving_mono_us > BRIDGELEAVE_US)
        return true;
    bridgegang_wake(g->b, g->key, BRIDGELEAVE_US / 10);
    bridgeact_tell(g, pods, "SlurmWaitingForNode", strbuf_str(&text));
    return false;
}
