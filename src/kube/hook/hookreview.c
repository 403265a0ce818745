/* hookreview.c - see hookreview.h */
#include "kube/hook/hookreview.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "kube/api/kubejson.h"
#include "kube/make/mkbase.h"

#define WARNING_MOST 256u
#define UID_MOST 128u

/* Values of a text in JSON, before any is made: an empty list is 2 bytes there, 100 in memory. */
static size_t count_values(const char *text, size_t len)
{
    size_t n = 1;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && (text[i] == ',' || text[i] == '{' || text[i] == '['))
            n++;
    }
    return n;
}

int hookreview_read(const char *text, size_t len, struct hookreview *ret, struct err *err)
{
    _cleanup_json_ json_t *tree = NULL;
    const json_t *request;
    struct hookreview r = { 0 };
    int e;

    if (len > HOOKREVIEW_MAX)
        return err_set(err, -EINVAL, "more than %u bytes", HOOKREVIEW_MAX);
    if (count_values(text, len) > HOOKREVIEW_VALUES)
        return err_set(err, -EINVAL, "more than %u values", HOOKREVIEW_VALUES);
    e = kubejson_parse(text, len, &tree, err);
    if (e < 0)
        return e;
    request = json_object_get(tree, "request");
    if (strcmp(kubejson_text(tree, "apiVersion"), "admission.k8s.io/v1") != 0 ||
        strcmp(kubejson_text(tree, "kind"), "AdmissionReview") != 0 || !json_is_object(request))
        return err_set(err, -EINVAL, "no AdmissionReview of admission.k8s.io/v1 with a request");
    r = (struct hookreview){ .uid = kubejson_text(request, "uid"),
                             .operation = kubejson_text(request, "operation"),
                             .namespace_ = kubejson_text(request, "namespace"),
                             .sub = kubejson_text(request, "subResource"),
                             .user = kubejson_text(request, "userInfo.username"),
                             .object = json_object_get(request, "object"),
                             .before = json_object_get(request, "oldObject") };
    if (!*r.uid || strlen(r.uid) > UID_MOST || !safetext_is_line(r.uid))
        return err_set(err, -EINVAL, "request.uid: 1 to %u characters are wanted", UID_MOST);
    if ((r.object && !json_is_object(r.object) && !json_is_null(r.object)) ||
        (r.before && !json_is_object(r.before) && !json_is_null(r.before)))
        return err_set(err, -EINVAL, "request.object, request.oldObject: objects are wanted");
    r.object = json_is_object(r.object) ? r.object : NULL;
    r.before = json_is_object(r.before) ? r.before : NULL;
    r.tree = TAKE_PTR(tree);
    *ret = r;
    return 0;
}

void hookreview_done(struct hookreview *r)
{
    json_decref(r->tree);
    *r = (struct hookreview){ 0 };
}

/* ---- the answer ------------------------------------------------------------------------------ */

void hookanswer_refuse(struct hookanswer *a, const char *fmt, ...)
{
    va_list ap;

    if (a->refused)
        return;
    a->refused = true;
    va_start(ap, fmt);
    (void)vsnprintf(a->text, sizeof(a->text), fmt, ap);
    va_end(ap);
    safetext_clean(a->text);
}

void hookanswer_warn(struct hookanswer *a, const char *text)
{
    char cut[WARNING_MOST + 1];

    (void)snprintf(cut, sizeof(cut), "%s", text);
    safetext_clean(cut);
    if (!a->warnings)
        a->warnings = json_array();
    (void)json_array_append_new(a->warnings, json_string(cut)); /* a warning less harms nobody */
}

void hookanswer_change(struct hookanswer *a, const char *op, const char *path, json_t *value)
{
    json_t *change = json_pack("{s:s, s:s, s:o}", "op", op, "path", path, "value", value);

    if (!a->patch)
        a->patch = json_array();
    if (!change || json_array_append_new(a->patch, change) < 0)
        hookanswer_refuse(a, ERR_NOMEM); /* half a patch must not be let in */
}

static int add_patch(json_t *response, const json_t *patch)
{
    _cleanup_free_ char *text = json_dumps(patch, JSON_COMPACT);

    if (!text || json_object_set_new(response, "patch", mkbase_base64(text, strlen(text))) < 0 ||
        json_object_set_new(response, "patchType", json_string("JSONPatch")) < 0)
        return -ENOMEM;
    return 0;
}

json_t *hookanswer_make(struct hookanswer *a, const struct hookreview *r)
{
    _cleanup_json_ json_t *warnings = TAKE_PTR(a->warnings), *patch = TAKE_PTR(a->patch);
    _cleanup_json_ json_t *response =
        json_pack("{s:s, s:b}", "uid", r->uid, "allowed", !a->refused);
    json_t *status;

    if (!response)
        return NULL;
    if (a->refused) {
        status = json_pack("{s:s, s:i, s:s}", "message", a->text, "code", 422, "reason", "Invalid");
        if (!status) /* words of the object that are cut in the middle of a letter */
            status = json_pack("{s:s, s:i, s:s}", "message", "refused", "code", 422, "reason",
                               "Invalid");
        if (json_object_set_new(response, "status", status) < 0)
            return NULL;
    } else if (json_array_size(patch) && add_patch(response, patch) < 0) {
        return NULL;
    }
    if (json_array_size(warnings) && json_object_set(response, "warnings", warnings) < 0)
        return NULL;
    return json_pack("{s:s, s:s, s:O}", "apiVersion", "admission.k8s.io/v1", "kind",
                     "AdmissionReview", "response", response);
}
