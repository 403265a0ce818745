/* podvolume.c - see podvolume.h */
#include "kube/claim/podvolume.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/api/kubequantity.h"
#include "kube/claim/devask.h"

#define BOUND "pv.kubernetes.io/bind-completed"
#define NO_PROVISIONER "kubernetes.io/no-provisioner"

bool podvolume_claim(const json_t *pod, const json_t *volume, char ret[static PODVOLUME_NAME])
{
    const char *claim = kubejson_text(volume, "persistentVolumeClaim.claimName");

    if (json_is_object(json_object_get(volume, "ephemeral")))
        (void)snprintf(ret, PODVOLUME_NAME, "%s-%s", kubejson_name(pod),
                       kubejson_text(volume, "name"));
    else if (*claim)
        (void)snprintf(ret, PODVOLUME_NAME, "%s", claim);
    else
        return false;
    return true;
}

static bool is_bound(const json_t *claim)
{
    return *kubejson_text(claim, "spec.volumeName") && kubejson_annotation(claim, BOUND);
}

static const json_t *class_of(const struct podvolume_facts *f, const json_t *claim)
{
    const char *name = kubejson_text(claim, "spec.storageClassName");

    return *name ? f->class_(f->ctx, name) : NULL;
}

bool podvolume_is_late(const struct podvolume_facts *f, const json_t *claim)
{
    const json_t *c = is_bound(claim) ? NULL : class_of(f, claim);

    return strcmp(kubejson_text(c, "volumeBindingMode"), "WaitForFirstConsumer") == 0;
}

/* An ephemeral volume's claim belongs to this very pod. */
static bool is_of_pod(const json_t *claim, const json_t *pod)
{
    const json_t *owner = kubejson_controller(claim);

    return owner && strcmp(kubejson_text(owner, "uid"), kubejson_uid(pod)) == 0;
}

static enum podvolume_state judge_claim(const struct podvolume_facts *f, const json_t *pod,
                                        const json_t *volume, const char *name, struct strbuf *why)
{
    const json_t *claim = f->claim(f->ctx, kubejson_namespace(pod), name);

    if (!claim) {
        strbuf_addf(why, "the claim %.250s is not there", name);
        return PODVOLUME_WAIT;
    }
    if (json_object_get(volume, "ephemeral") && !is_of_pod(claim, pod)) {
        strbuf_addf(why, "the claim %.250s is not the pod's", name);
        return PODVOLUME_WAIT;
    }
    if (kubejson_is_deleted(claim)) {
        strbuf_addf(why, "the claim %.250s is being deleted", name);
        return PODVOLUME_WAIT;
    }
    if (is_bound(claim)) {
        if (f->volume(f->ctx, kubejson_text(claim, "spec.volumeName")))
            return PODVOLUME_READY;
        strbuf_addf(why, "the volume of the claim %.250s is not there", name);
        return PODVOLUME_WAIT;
    }
    if (!podvolume_is_late(f, claim)) {
        strbuf_addf(why, "the claim %.250s is not bound yet", name);
        return PODVOLUME_WAIT;
    }
    if (strcmp(kubejson_text(class_of(f, claim), "provisioner"), NO_PROVISIONER) == 0) {
        strbuf_addf(why, "the claim %.250s: volumes of its class are not made for a node", name);
        return PODVOLUME_NEVER;
    }
    return PODVOLUME_LATE;
}

enum podvolume_state podvolume_judge(const struct podvolume_facts *f, const json_t *pod,
                                     struct strbuf *why)
{
    enum podvolume_state all = PODVOLUME_READY, one;
    size_t i;
    json_t *volume;

    json_array_foreach(kubejson_at(pod, "spec.volumes"), i, volume)
    {
        char name[PODVOLUME_NAME];

        if (!podvolume_claim(pod, volume, name))
            continue;
        one = judge_claim(f, pod, volume, name, why);
        if (one >= PODVOLUME_WAIT)
            return one;
        all = MAX(all, one);
    }
    return all;
}

/* ---- what is wanted of a node ---------------------------------------------------------------- */

static int push_need(json_t *needs, const char *key, const json_t *value)
{
    return json_array_append_new(needs, json_pack("{s:O}", key, value)) < 0 ? -1 : 0;
}

static int add_claim(const struct podvolume_facts *f, const json_t *pod, const json_t *volume,
                     json_t *needs)
{
    char name[PODVOLUME_NAME];
    const json_t *claim, *want;

    if (!podvolume_claim(pod, volume, name))
        return 0;
    claim = f->claim(f->ctx, kubejson_namespace(pod), name);
    if (claim && is_bound(claim)) {
        want = kubejson_at(f->volume(f->ctx, kubejson_text(claim, "spec.volumeName")),
                           "spec.nodeAffinity.required.nodeSelectorTerms");
        return json_is_array(want) ? push_need(needs, "terms", want) : 0;
    }
    want = claim ? json_object_get(class_of(f, claim), "allowedTopologies") : NULL;
    return json_array_size(want) ? push_need(needs, "topologies", want) : 0;
}

/* Does slurmctld count it, so that nodes without it are never given?  Names without a domain are
 * Kubernetes' own. */
static bool is_counted(const char *resource)
{
    return strcmp(resource, "nvidia.com/gpu") == 0 || strcmp(resource, "amd.com/gpu") == 0 ||
           !strchr(resource, '/') || kubejson_after(resource, "hugepages-") ||
           kubejson_after(resource, DEVASK_PREFIX);
}

/* Other devices: as many as the containers ask for together. */
static int add_devices(const json_t *pod, json_t *needs)
{
    _cleanup_json_ json_t *sums = json_object();
    size_t i;
    const char *name;
    json_t *c, *value;

    json_array_foreach(kubejson_at(pod, "spec.containers"), i, c)
    {
        json_object_foreach((json_t *)(uintptr_t)kubejson_at(c, "resources.limits"), name, value)
        {
            int64_t milli, have = json_integer_value(json_object_get(sums, name));

            if (is_counted(name) || kubequantity_read(value, &milli) < 0 || milli <= 0)
                continue;
            if (__builtin_add_overflow(have, milli, &have))
                have = INT64_MAX;
            if (json_object_set_new(sums, name, json_integer(have)) < 0)
                return -1;
        }
    }
    return json_object_size(sums) ? push_need(needs, "devices", sums) : 0;
}

json_t *podvolume_needs(const struct podvolume_facts *f, const json_t *pod)
{
    json_t *needs = json_array(), *volume;
    bool failed = !needs || add_devices(pod, needs) < 0;
    size_t i;

    json_array_foreach(kubejson_at(pod, "spec.volumes"), i, volume)
    {
        failed = failed || add_claim(f, pod, volume, needs) < 0;
    }
    if (!failed)
        return needs;
    json_decref(needs);
    return NULL;
}

/* One of the terms, every expression of it. */
static bool meets_topologies(const json_t *topologies, const json_t *node)
{
    size_t i, k;
    json_t *term, *rule;

    json_array_foreach(topologies, i, term)
    {
        bool all = true;

        json_array_foreach(json_object_get(term, "matchLabelExpressions"), k, rule)
        {
            const char *have = kubejson_label(node, kubejson_text(rule, "key"));

            all = all && have && kubejson_has_text(json_object_get(rule, "values"), have);
        }
        if (all)
            return true;
    }
    return false;
}

static bool has_devices(const json_t *devices, const json_t *node)
{
    const json_t *have = kubejson_at(node, "status.allocatable");
    const char *name;
    json_t *want;

    json_object_foreach((json_t *)(uintptr_t)devices, name, want)
    {
        int64_t milli;

        if (kubequantity_read(json_object_get(have, name), &milli) < 0 ||
            milli < json_integer_value(want))
            return false;
    }
    return true;
}

bool podvolume_meets(const json_t *needs, const json_t *node)
{
    size_t i;
    json_t *one;

    json_array_foreach(needs, i, one)
    {
        const json_t *terms = json_object_get(one, "terms");
        const json_t *topologies = json_object_get(one, "topologies");

        if ((terms && !kubematch_meets(terms, node)) ||
            (topologies && !meets_topologies(topologies, node)) ||
            !has_devices(json_object_get(one, "devices"), node))
            return false;
    }
    return true;
}
