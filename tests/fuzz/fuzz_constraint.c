/* fuzz_constraint.c - constraint expressions from users: parse, then evaluate what parsed */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sched/base/constraint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bitmap *lookup(void *arg, const char *name, size_t len)
{
    return len && name[0] == 'a' ? arg : NULL;
}

static void evaluate(const struct constraint *f, struct bitmap *mask, struct bitmap *some)
{
    for (uint32_t alt = 0; alt < constraint_alts(f); alt++) {
        uint32_t n;

        bitmap_fill(mask);
        if (constraint_mask(f, alt, lookup, some, mask) < 0)
            return;
        for (uint32_t i = 0; i < constraint_counts(f, alt); i++)
            if (constraint_count_mask(f, alt, i, lookup, some, mask, &n) == 0 && !n)
                abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    _cleanup_(constraint_free) struct constraint *f = NULL;
    struct bitmap *mask = NULL, *some = NULL;
    struct err err;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (constraint_parse(text, &f, &err) < 0 || bitmap_new(70, &mask) < 0 ||
        bitmap_new(70, &some) < 0)
        return 0;
    bitmap_set_range(some, 3, 64);
    evaluate(f, mask, some);
    bitmap_free(mask);
    bitmap_free(some);
    return 0;
}
