/* podhook.c - see podhook.h */
#include "kube/hook/podhook.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/claim/bridgekeys.h"
#include "kube/bridge/podidentity.h"
#include "kube/claim/devask.h"
#include "kube/claim/podnear.h"

#define DEFAULT_SCHEDULER "default-scheduler"

static bool is_create(const struct hookreview *r)
{
    return strcmp(r->operation, "CREATE") == 0;
}

static bool is_ours(const struct bridgeconf *c, const struct hookreview *r)
{
    return strcmp(kubejson_text(r->object, "spec.schedulerName"), c->scheduler) == 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

static bool has_toleration(const struct bridgeconf *c, const json_t *pod)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(pod, "spec.tolerations"), i, one)
    {
        if (strcmp(kubejson_text(one, "key"), BRIDGE_TAINT) == 0 &&
            strcmp(kubejson_text(one, "value"), c->scheduler) == 0)
            return true;
    }
    return false;
}

static void add_toleration(const struct bridgeconf *c, const json_t *pod, struct hookanswer *a)
{
    bool listed = json_is_array(kubejson_at(pod, "spec.tolerations"));
    json_t *one = json_pack("{s:s, s:s, s:s, s:s}", "key", BRIDGE_TAINT, "operator", "Equal",
                            "value", c->scheduler, "effect", "NoExecute");

    if (listed)
        hookanswer_change(a, "add", "/spec/tolerations/-", one);
    else
        hookanswer_change(a, "add", "/spec/tolerations", json_pack("[o]", one));
}

void podhook_change(const struct bridgeconf *c, const struct hookreview *r, struct hookanswer *a)
{
    const char *scheduler = kubejson_text(r->object, "spec.schedulerName");
    /* with a selector the API server asks of its namespaces alone */
    bool taken = (c->selector || bridgeconf_has(c->namespaces, r->namespace_)) &&
                 (!*scheduler || strcmp(scheduler, DEFAULT_SCHEDULER) == 0);

    if (!is_create(r) || *r->sub || !json_is_object(kubejson_at(r->object, "spec")) ||
        (!taken && !is_ours(c, r)))
        return;
    if (*kubejson_text(r->object, "spec.nodeName"))
        hookanswer_change(a, "replace", "/spec/nodeName", json_string(""));
    if (taken)
        hookanswer_change(a, "add", "/spec/schedulerName", json_string(c->scheduler));
    if (!has_toleration(c, r->object))
        add_toleration(c, r->object, a);
}

/* ---- judging --------------------------------------------------------------------------------- */

static bool has_native_cpu(const json_t *list)
{
    size_t i;
    json_t *one;

    json_array_foreach(list, i, one)
    {
        if (json_object_get(kubejson_at(one, "resources.requests"), "cpu") ||
            json_object_get(kubejson_at(one, "resources.limits"), "cpu"))
            return true;
    }
    return false;
}

static void judge_devices(const struct hookreview *r, struct hookanswer *a)
{
    _cleanup_json_ json_t *asks = NULL;
    struct err err = { .text = "" };
    bool cpu, gpu;

    if (devask_read(r->object, &asks, &err) < 0) {
        hookanswer_refuse(a, "%s", err.text);
        return;
    }
    cpu = devask_cpus(asks) > 0;
    gpu = json_array_size(asks) > (cpu ? 1 : 0);
    if (cpu && (has_native_cpu(kubejson_at(r->object, "spec.containers")) ||
                has_native_cpu(kubejson_at(r->object, "spec.initContainers"))))
        hookanswer_refuse(a, "cpu and " DEVASK_PREFIX DEVASK_CPU
                             ": one of them, since both count the same CPUs");
    if (cpu && kubejson_annotation(r->object, BRIDGE_NOTE_PREFIX "cpu-per-task"))
        hookanswer_refuse(a, "the annotation " BRIDGE_NOTE_PREFIX
                             "cpu-per-task: not with " DEVASK_PREFIX DEVASK_CPU);
    if (gpu && kubejson_annotation(r->object, BRIDGE_NOTE_PREFIX "gres"))
        hookanswer_refuse(a, "the annotation " BRIDGE_NOTE_PREFIX
                             "gres: not with a device class of GPUs");
}

/* What a template makes is not known yet: the bridge judges it. */
static void judge_claims(const struct hookreview *r, struct hookanswer *a)
{
    size_t i;
    json_t *one;

    json_array_foreach(kubejson_at(r->object, "spec.resourceClaims"), i, one)
    {
        if (!*kubejson_text(one, "resourceClaimTemplateName"))
            hookanswer_refuse(a,
                              "spec.resourceClaims %.60s: a pod may name the template of a "
                              "claim, and no claim that is there already",
                              kubejson_text(one, "name"));
    }
}

/* A pod that has no namespace yet gets that of the request. */
static void judge_identity(const struct bridgeconf *c, const struct hookreview *r,
                           struct hookanswer *a)
{
    _cleanup_json_ json_t *pod = json_deep_copy(r->object), *pods = NULL, *job = json_object();
    json_t *meta = json_object_get(pod, "metadata");
    struct err err = { .text = "" };

    if (pod && !json_is_object(meta))
        (void)json_object_set_new(pod, "metadata", meta = json_object()); /* else it is refused */
    if (meta && *r->namespace_)
        (void)json_object_set_new(meta, "namespace", json_string(r->namespace_));
    pods = json_pack("[O]", pod);
    if (podidentity_set(c->rules, pods, pod, job, &err) < 0)
        hookanswer_refuse(a, "%s", err.text);
}

/* The pods of its gang are not known here: the bridge judges what they say of each other. */
static void judge_places(const struct hookreview *r, struct hookanswer *a)
{
    _cleanup_json_ json_t *pods = json_pack("[O]", r->object);
    struct err err = { .text = "" };

    if (kubematch_check(json_object_get(r->object, "spec"), &err) < 0 ||
        podnear_check(pods, &err) < 0)
        hookanswer_refuse(a, "%s", err.text);
}

static void judge_new(const struct bridgeconf *c, const struct hookreview *r, struct hookanswer *a)
{
    if (kubejson_label(r->object, BRIDGE_LABEL_JOB))
        hookanswer_refuse(a, "the label " BRIDGE_LABEL_JOB " is the bridge's own");
    if (kubejson_annotation(r->object, BRIDGE_NOTE_NODE))
        hookanswer_refuse(a, "the annotation " BRIDGE_NOTE_NODE " is the bridge's own");
    judge_claims(r, a);
    judge_places(r, a);
    judge_identity(c, r, a);
}

static bool is_same_text(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static void judge_running(const struct hookreview *r, struct hookanswer *a)
{
    if (strcmp(kubejson_text(r->before, "status.phase"), "Running") != 0)
        return;
    if (!is_same_text(kubejson_label(r->object, BRIDGE_LABEL_JOB),
                      kubejson_label(r->before, BRIDGE_LABEL_JOB)))
        hookanswer_refuse(a, "the label " BRIDGE_LABEL_JOB " of a pod that runs cannot be changed");
    if (!is_same_text(kubejson_annotation(r->object, BRIDGE_NOTE_NODE),
                      kubejson_annotation(r->before, BRIDGE_NOTE_NODE)))
        hookanswer_refuse(a, "the annotation " BRIDGE_NOTE_NODE
                             " of a pod that runs cannot be changed");
}

/* A pod that was there before this webhook keeps what it asks for. */
static bool has_same_spec(const struct hookreview *r)
{
    const json_t *now = json_object_get(r->object, "spec");
    const json_t *before = json_object_get(r->before, "spec");

    return now && before && json_equal(now, before);
}

void podhook_judge(const struct bridgeconf *c, const struct hookreview *r, struct hookanswer *a)
{
    bool update = strcmp(r->operation, "UPDATE") == 0;

    if ((!is_create(r) && !update) || !is_ours(c, r))
        return;
    if (strcmp(r->sub, "resize") == 0) {
        hookanswer_refuse(a, "a pod of a Slurm job cannot be resized: the job holds what it asked "
                             "for");
        return;
    }
    if (*r->sub || (r->before && kubejson_is_deleted(r->before)))
        return; /* of what is deleted, finalizers may always go */
    if (is_create(r) || !has_same_spec(r))
        judge_devices(r, a);
    if (is_create(r))
        judge_new(c, r, a);
    else
        judge_running(r, a);
}
