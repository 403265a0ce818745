/* fuzz_pmi.c - what programs send over PMI, and what other nodes bring to a meeting
 *
 * The first byte chooses; whatever comes, nothing may be read or written out of bounds, and a
 * message that is taken apart has fields within it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pmi/kvs.h"
#include "pmi/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_text(const uint8_t *data, size_t size, bool framed)
{
    char *copy = malloc(size + 1);
    struct pmi_text t;
    long n;

    if (!copy)
        return;
    memcpy(copy, data, size);
    copy[size] = '\0';
    n = pmi_text_whole(copy, size, framed);
    if (n > 0 && ((size_t)n > size ||
                  (pmi_text_parse(copy, (size_t)n, framed, &t) == 0 && t.n > PMI_FIELDS_MAX)))
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kvs k = KVS_INIT;

    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        try_text(data + 1, size - 1, false);
        break;
    case 1:
        try_text(data + 1, size - 1, true);
        break;
    default:
        (void)kvs_merge(&k, data + 1, size - 1); /* must only not crash */
        kvs_done(&k);
        break;
    }
    return 0;
}
