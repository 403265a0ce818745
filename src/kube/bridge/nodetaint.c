/* nodetaint.c - see nodetaint.h */
#include "kube/bridge/nodetaint.h"

#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/bridge/bridgekeys.h"

#define EFFECT "NoExecute"

static json_t *make_taint(const char *scheduler)
{
    return json_pack("{s:s, s:s, s:s}", "key", BRIDGE_TAINT, "value", scheduler, "effect", EFFECT);
}

static bool is_taint(const json_t *taint, const char *scheduler)
{
    return strcmp(kubejson_text(taint, "key"), BRIDGE_TAINT) == 0 &&
           strcmp(kubejson_text(taint, "value"), scheduler) == 0 &&
           strcmp(kubejson_text(taint, "effect"), EFFECT) == 0;
}

bool nodetaint_tolerates(const json_t *pod, const char *scheduler)
{
    _cleanup_json_ json_t *taint = make_taint(scheduler);

    return taint && kubematch_tolerates(kubejson_at(pod, "spec.tolerations"), taint);
}

json_t *nodetaint_tolerations(const json_t *pod, const char *scheduler)
{
    const json_t *have = kubejson_at(pod, "spec.tolerations");
    json_t *list = json_is_array(have) ? json_deep_copy(have) : json_array();

    if (list && json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", BRIDGE_TAINT,
                                                      "operator", "Equal", "value", scheduler,
                                                      "effect", EFFECT)) == 0)
        return list;
    json_decref(list);
    return NULL;
}

bool nodetaint_differs(const json_t *node, const char *scheduler, bool managed)
{
    bool have = false;
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(node, "spec.taints"), i, one) have =
        have || is_taint(one, scheduler);
    return have != managed;
}

json_t *nodetaint_change(const json_t *node, const char *scheduler, bool managed)
{
    _cleanup_json_ json_t *list = json_array();
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(node, "spec.taints"), i, one)
    {
        if (!is_taint(one, scheduler) && json_array_append(list, one) < 0)
            return NULL;
    }
    if (!list || (managed && json_array_append_new(list, make_taint(scheduler)) < 0))
        return NULL;
    return json_pack("{s:{s:s}, s:{s:O}}", "metadata", "resourceVersion",
                     kubejson_text(node, "metadata.resourceVersion"), "spec", "taints", list);
}
