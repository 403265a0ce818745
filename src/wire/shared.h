/* shared.h - immutable bytes that several connections send
 *
 * Counted; any thread may hold and release.  Filled by its maker before others see it. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct shared_bytes {
    atomic_uint refs;
    size_t len;
    uint8_t data[];
};

/* With one reference, the caller's.  NULL = out of memory. */
static inline struct shared_bytes *shared_new(size_t len)
{
    struct shared_bytes *b = malloc(sizeof(*b) + len);

    if (b) {
        atomic_init(&b->refs, 1);
        b->len = len;
    }
    return b;
}

static inline struct shared_bytes *shared_ref(struct shared_bytes *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

static inline struct shared_bytes *shared_unref(struct shared_bytes *b) /* always NULL */
{
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        free(b);
    return NULL;
}
