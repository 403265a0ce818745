/* feedmem.c - making a change for the scheduler, and what it owns; see feedmem.h */
#include "feed/feedmem.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"

struct feed *feed_new(enum feed_kind kind)
{
    struct feed *f = must(calloc(1, sizeof(*f)));

    f->kind = kind;
    return f;
}

void *feed_own(struct feed *f, void *p)
{
    if (f->nowned == ARRAY_SIZE(f->owned)) {
        log_fatal("a scheduler change owns too much");
        abort();
    }
    f->owned[f->nowned++] = must(p);
    return p;
}
