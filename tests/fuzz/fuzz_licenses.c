/* fuzz_licenses.c - the licences of a request: what is cut up is bounded, named and counted */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "feed/licensefeed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    struct license_list list;
    char *alloc, *layers;

    assert(text);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (!licenses_parse(text, &list)) {
        assert(!list.items && !list.n);
        return 0;
    }
    assert(list.n <= LICENSES_MAX);
    for (size_t i = 0; i < list.n; i++)
        assert(*list.items[i].name && (list.items[i].layer || !strchr(list.items[i].name, '(')));
    licenses_texts(list.items, list.n, list.any, &alloc, &layers);
    free(alloc);
    free(layers);
    free(list.items);
    return 0;
}
