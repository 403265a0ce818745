/* decisions.c - the list of decisions that a pass or a backfill returns */
#include "sched/state/decisions.h"

#include <errno.h>
#include <stdlib.h>

#include "sched/sched.h"
#include "sched/state/alloc.h"

int decisions_add(struct sched_decisions *out, const struct sched_decision *d)
{
    if (out->n == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 16;
        struct sched_decision *grown = realloc(out->items, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        out->items = grown;
        out->cap = cap;
    }
    out->items[out->n++] = *d;
    return 0;
}

void sched_decision_done(struct sched_decision *d)
{
    alloc_done(&d->alloc);
    free(d->expected_nodes);
    free(d->licenses);
    free(d->victims);
    *d = (struct sched_decision){ 0 };
}

void sched_decisions_done(struct sched_decisions *d)
{
    for (size_t i = 0; i < d->n; i++)
        sched_decision_done(&d->items[i]);
    free(d->items);
    *d = (struct sched_decisions){ 0 };
}
