/* bridgegroup.c - see bridgegroup.h */
#include "kube/bridge/bridgegroup.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "kube/api/kubejson.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/bridgekinds.h"
#include "kube/claim/podread.h"

bool bridgegroup_is_native(const struct bridge *b, const json_t *pod)
{
    return b->native && *podread_native_group(pod);
}

bool bridgegroup_is_labelled(const struct bridge *b, const json_t *pod)
{
    const char *name = kubejson_label(pod, BRIDGE_LABEL_PODGROUP);

    return b->groups && name && *name;
}

static const json_t *group_of(const struct bridge *b, const json_t *pod)
{
    if (bridgegroup_is_native(b, pod))
        return kubeinformer_by_name(b->native, kubejson_namespace(pod), podread_native_group(pod));
    return bridgegroup_is_labelled(b, pod)
               ? kubeinformer_by_name(b->groups, kubejson_namespace(pod),
                                      kubejson_label(pod, BRIDGE_LABEL_PODGROUP))
               : NULL;
}

int64_t bridgegroup_least(const struct bridge *b, const json_t *pods)
{
    const json_t *first = json_array_get(pods, 0);
    const char *size = first ? kubejson_annotation(first, BRIDGE_NOTE_LWS_SIZE) : NULL;
    int64_t n;

    if (!first)
        return 1;
    if (bridgegroup_is_native(b, first)) {
        const json_t *group = group_of(b, first);

        return group ? MAX(1, kubejson_int(group, "spec.schedulingPolicy.gang.minCount", 1))
                     : INT64_MAX;
    }
    if (bridgegroup_is_labelled(b, first)) {
        const json_t *group = group_of(b, first);

        return group ? MAX(1, kubejson_int(group, "spec.minMember", 1)) : INT64_MAX;
    }
    if (kubejson_label(first, BRIDGE_LABEL_LWS_KEY))
        return size && parse_i64(size, 1, INT32_MAX, &n) == 0 ? n : INT64_MAX;
    return 1;
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

/* The Job or JobSet that the pod belongs to; NULL: none. */
static const json_t *controller_of(const struct bridge *b, const json_t *pod, bool *missing)
{
    const json_t *job = owner_of(b->jobs, &kubekind_jobs, pod, missing);
    const json_t *set = job ? owner_of(b->jobsets, &bridge_jobsets, job, missing) : NULL;

    return set ? set : job;
}

int64_t bridgegroup_deadline_s(const struct bridge *b, const json_t *pod)
{
    bool missing;
    const json_t *job = owner_of(b->jobs, &kubekind_jobs, pod, &missing);

    return job ? MAX(0, kubejson_int(job, "spec.activeDeadlineSeconds", 0)) : 0;
}

/* The Workload that the PodGroup was made of; NULL: none. */
static const json_t *workload_of(const struct bridge *b, const json_t *group, bool *missing)
{
    const char *name = kubejson_text(group, "spec.podGroupTemplateRef.workload.workloadName");
    const json_t *found;

    if (!b->workloads || !*name)
        return NULL;
    found = kubeinformer_by_name(b->workloads, kubejson_namespace(group), name);
    if (!found)
        *missing = true;
    return found;
}

static int add_options(json_t *root, const json_t *more)
{
    json_t *notes = kubejson_at(root, "metadata.annotations");
    json_t *others = kubejson_at(more, "metadata.annotations");

    if (!json_is_object(others))
        return 0;
    if (!json_is_object(notes))
        return json_object_set(json_object_get(root, "metadata"), "annotations", others);
    return json_object_update(notes, others);
}

json_t *bridgegroup_root(const struct bridge *b, const json_t *pod, bool *missing)
{
    const json_t *group = group_of(b, pod), *owner;
    _cleanup_json_ json_t *root = NULL;

    if (group && !bridgegroup_is_native(b, pod))
        return json_incref((json_t *)(uintptr_t)group);
    owner = controller_of(b, pod, missing);
    if (!group)
        return json_incref((json_t *)(uintptr_t)(owner ? owner : pod));
    root = json_deep_copy(group);
    if (!root || add_options(root, owner) < 0 ||
        add_options(root, workload_of(b, group, missing)) < 0)
        return NULL;
    return TAKE_PTR(root);
}

/* ---- what a PodGroup is told ----------------------------------------------------------------- */

#define PLACED "PodGroupScheduled"

/* The word of schedulers that know PodGroups: whoever waits for it may go on.  Nothing depends on
 * it here. */
static void take_told(void *ctx, const struct kubereply *reply)
{
    (void)ctx;
    if (reply->status != 200 && reply->status != 404 && reply->status != 409)
        log_seldom(LOG_ERROR, "the status of a PodGroup: API server: %d %.300s", reply->status,
                   reply->text);
}

/* All conditions: a merge patch replaces the list.  NULL: no memory. */
static json_t *make_status(const json_t *group)
{
    _cleanup_json_ json_t *all = json_array();
    json_t *one;
    size_t i;
    char stamp[40];

    json_array_foreach(kubejson_at(group, "status.conditions"), i, one)
    {
        if (strcmp(kubejson_text(one, "type"), PLACED) != 0 && json_array_append(all, one) < 0)
            return NULL;
    }
    kubejson_stamp(now_us(), false, stamp, sizeof(stamp));
    if (json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", PLACED, "status",
                                             "True", "reason", "Scheduled", "message",
                                             "All pods have nodes of their Slurm job",
                                             "lastTransitionTime", stamp)) < 0)
        return NULL;
    return json_pack("{s:{s:s, s:s}, s:{s:O}}", "metadata", "uid", kubejson_uid(group),
                     "resourceVersion", kubejson_version(group), "status", "conditions", all);
}

void bridgegroup_tell_placed(struct gang *g, const json_t *pods, const struct slurmjob *job)
{
    const json_t *first = json_array_get(pods, 0), *group = first ? group_of(g->b, first) : NULL;
    const struct kubeapi_target t = { &bridge_native, group ? kubejson_namespace(group) : "",
                                      group ? kubejson_name(group) : "", "status", true };
    _cleanup_json_ json_t *patch = NULL;

    if (!group || !bridgegroup_is_native(g->b, first) || g->placed_job == job->id)
        return;
    g->placed_job = job->id;
    if (strcmp(kubejson_text(kubejson_condition(group, PLACED), "status"), "True") == 0)
        return;
    patch = make_status(group);
    if (patch)
        (void)kubeapi_patch(g->b->kube, &t, KUBEAPI_MERGE, patch, NULL, false, take_told, NULL);
}
