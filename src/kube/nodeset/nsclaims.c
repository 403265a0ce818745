/* nsclaims.c - see nsclaims.h */
#include "kube/nodeset/nsclaims.h"

#include <stdio.h>
#include <string.h>

#include "kube/api/kubejson.h"
#include "kube/make/opkeys.h"

void nsclaims_name(const json_t *template_, const json_t *pod, char ret[static NSCLAIMS_NAME])
{
    (void)snprintf(ret, NSCLAIMS_NAME, "%s-%s", kubejson_name(template_), kubejson_name(pod));
}

static bool says_delete(const struct nsview *v, const char *when)
{
    const json_t *policy = kubejson_at(v->f->cr, "spec.persistentVolumeClaimRetentionPolicy");

    return strcmp(kubejson_text(policy, when), "Delete") == 0;
}

/* A reference that we make: to the NodeSet, or to the pod of this name, whichever it was. */
static bool is_made_by_us(const struct nsview *v, const json_t *pod, const json_t *ref)
{
    return strcmp(kubejson_text(ref, "uid"), kubejson_uid(v->f->cr)) == 0 ||
           (strcmp(kubejson_text(ref, "kind"), "Pod") == 0 &&
            strcmp(kubejson_text(ref, "apiVersion"), "v1") == 0 &&
            strcmp(kubejson_text(ref, "name"), kubejson_name(pod)) == 0);
}

static bool has_ref(const json_t *refs, const char *uid)
{
    size_t i;
    json_t *one;

    json_array_foreach(refs, i, one)
    {
        if (strcmp(kubejson_text(one, "uid"), uid) == 0)
            return true;
    }
    return false;
}

static json_t *refer_to_pod(const json_t *pod)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", "Pod", "name",
                     kubejson_name(pod), "uid", kubejson_uid(pod));
}

/* Only this claim, as it was seen. */
static json_t *make_patch(const json_t *claim, json_t *refs)
{
    return json_pack("{s:{s:s, s:s, s:o}}", "metadata", "uid", kubejson_uid(claim),
                     "resourceVersion", kubejson_version(claim), "ownerReferences", refs);
}

enum nsclaims_state nsclaims_judge(const struct nsview *v, const json_t *template_,
                                   const json_t *pod, bool leaves, json_t **ret_patch)
{
    char name[NSCLAIMS_NAME];
    const json_t *claim, *have, *owner, *label;
    const char *want_uid = "";
    json_t *refs, *one;
    size_t i, kept = 0;
    bool to_pod = leaves && says_delete(v, "whenScaled");

    nsclaims_name(template_, pod, name);
    claim = json_object_get(v->claims, name);
    if (!claim)
        return NSCLAIMS_MISSING;
    label = json_object_get(kubejson_at(claim, "metadata.labels"), OPKEY_INSTANCE);
    if (kubejson_is_deleted(claim) || !json_is_string(label) ||
        strcmp(json_string_value(label), kubejson_name(v->f->cr)) != 0)
        return NSCLAIMS_GOOD; /* it was not made by us: who made it decides when it goes */
    if (to_pod)
        want_uid = kubejson_uid(pod);
    else if (says_delete(v, "whenDeleted"))
        want_uid = kubejson_uid(v->f->cr);
    have = kubejson_at(claim, "metadata.ownerReferences");
    json_array_foreach(have, i, one) kept += is_made_by_us(v, pod, one);
    if (*want_uid ? kept == 1 && has_ref(have, want_uid) : kept == 0)
        return NSCLAIMS_GOOD;
    owner = kubejson_controller(claim);
    if (owner && !is_made_by_us(v, pod, owner))
        return NSCLAIMS_FOREIGN;
    refs = json_array();
    json_array_foreach(have, i, one)
    {
        if (!is_made_by_us(v, pod, one) && json_array_append(refs, one) < 0) {
            json_decref(refs);
            refs = NULL;
        }
    }
    if (*want_uid &&
        mkbase_push(refs, to_pod ? refer_to_pod(pod) : mkbase_owner(v->f->cr, true)) < 0) {
        json_decref(refs);
        refs = NULL;
    }
    *ret_patch = refs ? make_patch(claim, refs) : NULL;
    return NSCLAIMS_CHANGE;
}
