/* podvolume.c - see podvolume.h */
#include "kube/claim/podvolume.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/api/kubequantity.h"
#include "kube/claim/devask.h"
#include "kube/claim/podstatic.h"

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
    /* A claim that names its volume waits for nothing but the volume. */
    bool named = *kubejson_text(claim, "spec.volumeName") != '\0';
    const json_t *c = named ? NULL : class_of(f, claim);

    return strcmp(kubejson_text(c, "volumeBindingMode"), "WaitForFirstConsumer") == 0;
}

bool podvolume_is_static(const struct podvolume_facts *f, const json_t *claim)
{
    return strcmp(kubejson_text(class_of(f, claim), "provisioner"), NO_PROVISIONER) == 0;
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
    enum podvolume_static found;

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
    found = f->statics(f->ctx, claim);
    if (found == PODVOLUME_SET_ASIDE) {
        strbuf_addf(why, "the claim %.250s is not bound yet", name);
        return PODVOLUME_WAIT;
    }
    if (found == PODVOLUME_NONE && podvolume_is_static(f, claim)) {
        strbuf_addf(why, "no volume that is free does for the claim %.250s", name);
        return PODVOLUME_WAIT;
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

/* Old volumes say by labels where they are: "a__b" is either. */
static const char *const places[][2] = {
    { "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone" },
    { "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region" },
};

static const char *either_label(const json_t *object, size_t i)
{
    const char *label = kubejson_label(object, places[i][0]);

    return label ? label : kubejson_label(object, places[i][1]);
}

static int add_zones(const json_t *volume, json_t *needs)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        const char *label = either_label(volume, i);

        if (label &&
            json_array_append_new(needs, json_pack("{s:[i, s]}", "place", (int)i, label)) < 0)
            return -1;
    }
    return 0;
}

/* A node that says nothing of zones may have the volume, as kube-scheduler has it. */
static bool meets_place(const json_t *place, const json_t *node)
{
    size_t i = (size_t)json_integer_value(json_array_get(place, 0));
    const char *at = json_string_value(json_array_get(place, 1));
    const char *have;

    if (!at || i >= ARRAY_SIZE(places) || (!either_label(node, 0) && !either_label(node, 1)))
        return true;
    have = either_label(node, i);
    while (have && *at) {
        const char *end = strstr(at, "__");
        size_t n = end ? (size_t)(end - at) : strlen(at);

        if (strlen(have) == n && memcmp(have, at, n) == 0)
            return true;
        at += n + (end ? 2 : 0);
    }
    return false;
}

/* The smallest claim stands first. */
static int add_static(const json_t *claim, json_t *needs)
{
    _cleanup_json_ json_t *want =
        json_pack("{s:{s:O}}", "static", "spec", json_object_get(claim, "spec"));
    size_t at = 0;

    while (at < json_array_size(needs) &&
           !podstatic_goes_first(json_object_get(want, "static"),
                                 json_object_get(json_array_get(needs, at), "static")))
        at++;
    return want ? json_array_insert(needs, at, want) : -1;
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
        const json_t *v = f->volume(f->ctx, kubejson_text(claim, "spec.volumeName"));

        want = kubejson_at(v, "spec.nodeAffinity.required.nodeSelectorTerms");
        if (json_is_array(want) && push_need(needs, "terms", want) < 0)
            return -1;
        return add_zones(v, needs);
    }
    if (claim && podvolume_is_late(f, claim) && podvolume_is_static(f, claim))
        return add_static(claim, needs);
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
            !meets_place(json_object_get(one, "place"), node) ||
            !has_devices(json_object_get(one, "devices"), node))
            return false;
    }
    return true;
}
