/* kubewatch.c - see kubewatch.h */
#include "kube/api/kubewatch.h"

#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubejson.h"

static const char *const words[] = {
    [KUBEWATCH_ADDED] = "ADDED",
    [KUBEWATCH_MODIFIED] = "MODIFIED",
    [KUBEWATCH_DELETED] = "DELETED",
    [KUBEWATCH_BOOKMARK] = "BOOKMARK",
};

int kubewatch_read(const char *line, size_t len, enum kubewatch_type *ret_type, json_t **ret_object,
                   struct err *err)
{
    _cleanup_json_ json_t *event = NULL;
    const char *type;
    json_t *object;
    int r = kubejson_parse(line, len, &event, err);

    if (r < 0)
        return r;
    type = kubejson_text(event, "type");
    object = json_object_get(event, "object");
    if (strcmp(type, "ERROR") == 0) {
        *ret_type = kubejson_int(object, "code", 0) == 410 ? KUBEWATCH_GONE : KUBEWATCH_ERROR;
        *ret_object = NULL;
        (void)err_set(err, -EIO, "%.200s", kubejson_text(object, "message"));
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(type, words[i]) != 0)
            continue;
        if (!*kubejson_version(object) ||
            (i != KUBEWATCH_BOOKMARK && (!*kubejson_uid(object) || !*kubejson_name(object))))
            return err_set(err, -EINVAL, "a %s without name, uid or resourceVersion", type);
        *ret_type = (enum kubewatch_type)i;
        *ret_object = json_incref(object);
        return 0;
    }
    return err_set(err, -EINVAL, "no event of a watch");
}
