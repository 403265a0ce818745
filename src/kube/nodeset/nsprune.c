/* nsprune.c - see nsprune.h */
#include "kube/nodeset/nsprune.h"

#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkworkers.h"
#include "kube/nodeset/slurmstate.h"

bool nsprune_is_wanted(const json_t *nodeset)
{
    return strcmp(kubejson_text(nodeset, "spec.pruneSlurmNodeRecords"), "NodeNotFound") == 0 &&
           strcmp(kubejson_text(nodeset, "spec.scalingMode"), "DaemonSet") == 0;
}

static bool has_pod(const struct nsview *v, const char *record, const char *pod)
{
    size_t i;
    json_t *one;

    json_array_foreach(v->pods, i, one)
    {
        if (strcmp(mkworkers_slurm_name(one), record) == 0 || strcmp(kubejson_name(one), pod) == 0)
            return true;
    }
    return mkbase_find(v->f, "Pod", pod) != NULL;
}

bool nsprune_is_defunct(const struct nsview *v, const json_t *record)
{
    const char *comment = kubejson_text(record, "comment"), *name = kubejson_text(record, "name");
    _cleanup_json_ json_t *info = json_loads(comment, 0, NULL);
    const char *pod = kubejson_text(info, "podName"), *node = kubejson_text(info, "node");
    const json_t *there = json_object_get(v->nodes, node);
    char host[MKWORKERS_HOST];

    if (!v->slurm || !*name || !*pod || !*node || !slurmstate_is_dead(record) ||
        strcmp(kubejson_text(info, "namespace"), kubejson_namespace(v->f->cr)) != 0 ||
        strcmp(kubejson_text(info, "nodeSetName"), kubejson_name(v->f->cr)) != 0 ||
        strcmp(kubejson_text(info, "nodeSetUID"), kubejson_uid(v->f->cr)) != 0)
        return false;
    if (there)
        mkworkers_node_host(there, host);
    return !has_pod(v, name, pod) && (!there || strcmp(host, name) != 0);
}
