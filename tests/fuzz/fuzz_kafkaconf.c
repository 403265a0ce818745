/* fuzz_kafkaconf.c - the configuration of jobcomp/kafka: pairs are trimmed, have a key, and a
 * refusal says where */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "ctld/notify/kafkaconf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_pair(void *ctx, const char *key, const char *value, struct err *err)
{
    size_t n = strlen(key), v = strlen(value);
    unsigned *pairs = ctx;

    (void)err;
    assert(n && !strchr(" \t#", key[0]) && !strchr(" \t", key[n - 1]) && !strchr(key, '=') &&
           !strchr(key, '\n'));
    assert(!v || (!strchr(" \t", value[0]) && !strchr(" \t", value[v - 1])));
    ++*pairs;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_fclose_ FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    struct err err = { .text = "" };
    unsigned pairs = 0;

    if (!f)
        return 0;
    if (kafkaconf_read(f, "file", on_pair, &pairs, &err) < 0)
        assert(strncmp(err.text, "file", 4) == 0);
    else
        assert(pairs > 0);
    return 0;
}
