/* podstatic.c - see podstatic.h */
#include "kube/claim/podstatic.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/api/kubematch.h"
#include "kube/api/kubequantity.h"

#define TERMS "spec.nodeAffinity.required.nodeSelectorTerms"
#define HOST "kubernetes.io/hostname"

bool podstatic_is_free(const json_t *volume)
{
    const json_t *ref = kubejson_at(volume, "spec.claimRef");

    return (!ref || json_is_null(ref)) && !kubejson_is_deleted(volume) &&
           strcmp(kubejson_text(volume, "status.phase"), "Available") == 0;
}

bool podstatic_is_for(const json_t *volume, const json_t *claim)
{
    const json_t *ref = kubejson_at(volume, "spec.claimRef");
    const char *uid = kubejson_text(ref, "uid");

    return strcmp(kubejson_text(ref, "name"), kubejson_name(claim)) == 0 &&
           strcmp(kubejson_text(ref, "namespace"), kubejson_namespace(claim)) == 0 &&
           (!*uid || strcmp(uid, kubejson_uid(claim)) == 0);
}

/* Thousandths of bytes; what cannot be read is none that a claim would ask for. */
static int64_t size_of(const json_t *object, const char *path)
{
    int64_t milli;

    return kubequantity_read(kubejson_at(object, path), &milli) < 0 ? -1 : milli;
}

static int64_t size_of_claim(const json_t *claim)
{
    return size_of(claim, "spec.resources.requests.storage");
}

static const char *mode_of(const json_t *object)
{
    const char *mode = kubejson_text(object, "spec.volumeMode");

    return *mode ? mode : "Filesystem";
}

static bool is_same(const json_t *a, const json_t *b, const char *path)
{
    return strcmp(kubejson_text(a, path), kubejson_text(b, path)) == 0;
}

bool podstatic_fits(const json_t *volume, const json_t *claim)
{
    const json_t *modes = kubejson_at(volume, "spec.accessModes");
    const json_t *selector = kubejson_at(claim, "spec.selector");
    int64_t have = size_of(volume, "spec.capacity.storage");
    size_t i;
    json_t *one;

    if (!is_same(volume, claim, "spec.storageClassName") ||
        !is_same(volume, claim, "spec.volumeAttributesClassName") ||
        strcmp(mode_of(volume), mode_of(claim)) != 0 || have < 0 || have < size_of_claim(claim))
        return false;
    if (selector && !json_is_null(selector) && !kubematch_labels(selector, volume))
        return false;
    json_array_foreach(kubejson_at(claim, "spec.accessModes"), i, one)
    {
        if (!json_is_string(one) || !kubejson_has_text(modes, json_string_value(one)))
            return false;
    }
    return true;
}

const json_t *podstatic_smaller(const json_t *a, const json_t *b)
{
    int64_t x, y;

    if (!a || !b)
        return a ? a : b;
    x = size_of(a, "spec.capacity.storage");
    y = size_of(b, "spec.capacity.storage");
    if (x != y)
        return x < y ? a : b;
    return strcmp(kubejson_name(a), kubejson_name(b)) <= 0 ? a : b;
}

const json_t *podstatic_pick(const json_t *volumes, const json_t *claim, const json_t *node,
                             const json_t *used)
{
    const json_t *best = NULL;
    size_t i;
    json_t *one;

    json_array_foreach(volumes, i, one)
    {
        const json_t *terms = kubejson_at(one, TERMS);

        if (!json_object_get(used, kubejson_name(one)) && podstatic_fits(one, claim) &&
            (!terms || json_is_null(terms) || kubematch_meets(terms, node)))
            best = podstatic_smaller(best, one);
    }
    return best;
}

/* The names of one term; false: it says something else. */
static bool add_hosts(const json_t *term, json_t *hosts)
{
    size_t i;
    json_t *rule;

    json_array_foreach(json_object_get(term, "matchExpressions"), i, rule)
    {
        if (strcmp(kubejson_text(rule, "key"), HOST) == 0 &&
            strcmp(kubejson_text(rule, "operator"), "In") == 0)
            return json_array_extend(hosts, json_object_get(rule, "values")) == 0;
    }
    return false;
}

json_t *podstatic_hosts(const json_t *volume)
{
    const json_t *terms = kubejson_at(volume, TERMS);
    json_t *hosts = json_array_size(terms) ? json_array() : NULL, *term;
    size_t i;

    json_array_foreach(terms, i, term)
    {
        if (hosts && !add_hosts(term, hosts)) {
            json_decref(hosts);
            hosts = NULL;
        }
    }
    return hosts;
}

bool podstatic_goes_first(const json_t *claim, const json_t *other)
{
    return other && size_of_claim(claim) < size_of_claim(other);
}
