/* ophook.c - see ophook.h */
#include "kube/hook/ophook.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"
#include "kube/make/opspec.h"

/* An object that is being made has not every member of its metadata yet. */
static json_t *fill_metadata(const json_t *object)
{
    json_t *copy = json_deep_copy(object), *meta = json_object_get(copy, "metadata");

    if (copy && !json_is_object(meta)) {
        meta = json_object();
        (void)json_object_set_new(copy, "metadata", meta); /* a missing uid is refused then */
    }
    if (meta && !*kubejson_uid(copy))
        (void)json_object_set_new(meta, "uid", json_string("new"));
    if (meta && !*kubejson_name(copy) && *kubejson_text(copy, "metadata.generateName"))
        (void)json_object_set_new(meta, "name", json_string("new"));
    return copy;
}

static void warn_of(const json_t *object, struct hookanswer *a)
{
    if (json_array_size(kubejson_at(object, "spec.service.spec.externalIPs")))
        hookanswer_warn(a, "spec.service.spec.externalIPs: left out, since anybody's addresses "
                           "could be taken with them");
    if (kubejson_at(object, "spec.persistentVolumeClaimRetentionPolicy.whenScaled") &&
        strcmp(kubejson_text(object, "spec.persistentVolumeClaimRetentionPolicy.whenScaled"),
               "Delete") == 0)
        hookanswer_warn(a, "spec.persistentVolumeClaimRetentionPolicy.whenScaled: Delete is not "
                           "acted on yet: claims stay");
}

/* Is the spec the one that is stored?  Then only labels, annotations or finalizers change. */
static bool keeps_spec(const struct hookreview *r)
{
    const json_t *now = json_object_get(r->object, "spec");
    const json_t *before = json_object_get(r->before, "spec");

    return r->before && (now == before || (now && before && json_equal(now, before)));
}

/* A deleted object waits for its finalizers alone: no rule may keep them. */
static bool goes_away(const struct hookreview *r)
{
    return kubejson_is_deleted(r->before ? r->before : r->object);
}

void ophook_judge(const struct hookreview *r, struct hookanswer *a)
{
    _cleanup_json_ json_t *object = NULL, *now = NULL, *old = NULL, *before = NULL;
    struct err err = { .text = "" };

    if (strcmp(r->operation, "DELETE") == 0 || *r->sub)
        return;
    if (!r->object) {
        hookanswer_refuse(a, "request.object: an object is wanted");
        return;
    }
    if (goes_away(r))
        return;
    object = fill_metadata(r->object);
    if (!object || opspec_read(object, &now, &err) < 0) {
        if (object && keeps_spec(r)) /* an earlier release let it in */
            hookanswer_warn(a, err.text);
        else
            hookanswer_refuse(a, "%s", err_or_nomem(&err));
        return;
    }
    warn_of(now, a);
    if (!r->before)
        return;
    /* What was let in by an earlier release, and is not valid any more, may be mended. */
    old = fill_metadata(r->before);
    if (old && opspec_read(old, &before, &err) == 0 &&
        opspec_check_change(before, now, &err) == -EPERM)
        hookanswer_refuse(a, "%s", err.text);
}
