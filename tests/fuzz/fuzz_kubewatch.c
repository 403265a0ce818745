/* fuzz_kubewatch.c - lines of watches from a hostile server: an event with what its readers need,
 * or an error */
#include <assert.h>
#include <stdint.h>

#include "kube/api/kubejson.h"
#include "kube/api/kubewatch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum kubewatch_type type = KUBEWATCH_ERROR;
    json_t *object = NULL;
    struct err err = { .text = "" };

    if (kubewatch_read((const char *)data, size, &type, &object, &err) < 0) {
        assert(!object && err.text[0]);
        return 0;
    }
    assert((object != NULL) == (type <= KUBEWATCH_BOOKMARK));
    assert(!object || *kubejson_version(object));
    if (type <= KUBEWATCH_DELETED)
        assert(*kubejson_uid(object) && *kubejson_name(object));
    (void)kubejson_controller(object);
    (void)kubejson_has_finalizer(object, "a/b");
    json_decref(object);
    return 0;
}
