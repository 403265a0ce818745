/* fuzz_hostlist.c - host list expressions: what is accepted must fold and read back the same */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"

enum { INPUT_MAX = 256, HOSTS_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL, *again = NULL;
    _cleanup_free_ char *folded = NULL;
    char text[INPUT_MAX + 1];
    struct err err = { .text = "" };

    if (size > INPUT_MAX)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (hostlist_parse(text, &hl, &err) < 0) {
        assert(err.text[0]);
        return 0;
    }
    if (hostlist_count(hl) > HOSTS_MAX)
        return 0; /* large ones only cost time here */
    assert(hostlist_fold(hl, &folded) == 0);
    assert(hostlist_parse(folded, &again, NULL) == 0);
    assert(hostlist_count(hl) == hostlist_count(again));
    for (size_t i = 0; i < hostlist_count(hl); i++)
        assert(strcmp(hostlist_nth(hl, i), hostlist_nth(again, i)) == 0);
    hostlist_uniq(hl);
    for (size_t i = 1; i < hostlist_count(hl); i++)
        assert(strcmp(hostlist_nth(hl, i - 1), hostlist_nth(hl, i)) != 0);
    return 0;
}
