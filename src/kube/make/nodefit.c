/* nodefit.c - see nodefit.h */
#include "kube/make/nodefit.h"

#include <string.h>

#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/make/opkeys.h"

/* Taints that say how the node is: workers are told of that by Slurm, and by cordons. */
static bool is_state_taint(const char *key)
{
    return kubejson_after(key, "node.kubernetes.io/");
}

static bool tolerates_all(const json_t *spec, const json_t *node, bool stays)
{
    size_t i;
    json_t *taint;

    json_array_foreach(kubejson_at(node, "spec.taints"), i, taint)
    {
        const char *effect = kubejson_text(taint, "effect"), *key = kubejson_text(taint, "key");
        bool ok = strcmp(effect, "PreferNoSchedule") == 0 || is_state_taint(key) ||
                  (stays && strcmp(effect, "NoExecute") != 0) ||
                  (strcmp(key, OPKEY_WORKER_TAINT) == 0 && strcmp(effect, "NoExecute") == 0);

        if (!ok && !kubematch_tolerates(json_object_get(spec, "tolerations"), taint))
            return false;
    }
    return true;
}

bool nodefit_fits(const json_t *spec, const json_t *node, bool stays)
{
    return !kubejson_is_deleted(node) && tolerates_all(spec, node, stays) &&
           kubematch_selects(spec, node);
}
