/* advtime.c - the windows of advance reservations: when they begin and end */
#include "sched/rules/advtime.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/rules/adv_data.h"
#include "sched/rules/advset.h"
#include "sched/state/sched_obj.h"

static int by_start(const void *a, const void *b)
{
    const struct advwin *x = a, *y = b;

    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->r->id > y->r->id) - (x->r->id < y->r->id);
}

static int make_windows(struct sched *s, int64_t now_us)
{
    struct advs *a = s->advs;
    struct advwin *wins;
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->n; i++)
        n += a->list[i]->nwindows;
    wins = realloc(a->wins, (n + 1) * sizeof(*wins));
    if (!wins)
        return -ENOMEM;
    a->wins = wins;
    a->nwins = a->nfloat = 0;
    a->next_us = INT64_MAX;
    bitmap_zero(a->cored);
    for (uint32_t i = 0; i < a->n; i++) {
        struct advres *r = a->list[i];

        a->nfloat += r->floats;
        for (uint32_t k = 0; k < r->ncpus; k++)
            if (r->cpus[k].node_id < a->cored->nbits)
                bitmap_set(a->cored, r->cpus[k].node_id);
        for (uint32_t k = 0; k < r->nwindows && !r->floats; k++) {
            if (r->windows[k].end_us <= now_us)
                continue;
            wins[a->nwins++] = (struct advwin){ r->windows[k].start_us, r->windows[k].end_us, r };
            a->next_us = MIN(a->next_us, r->windows[k].start_us > now_us ? r->windows[k].start_us
                                                                         : r->windows[k].end_us);
        }
    }
    if (a->nwins > 1)
        qsort(wins, a->nwins, sizeof(*wins), by_start);
    a->dirty = false;
    return 0;
}

int advs_refresh(struct sched *s, int64_t now_us)
{
    struct advs *a = s->advs;
    bool passed;

    if (!a)
        return 0;
    if (a->cored->nbits != s->nbits) {
        int r = bitmap_resize(&a->cored, s->nbits);

        if (r < 0)
            return r;
        a->dirty = true;
    }
    passed = now_us >= a->next_us;
    if (!a->dirty && !passed)
        return 0;
    if (passed && !a->dirty)
        advs_stir(s);
    return make_windows(s, now_us);
}

int64_t advs_wake(const struct sched *s)
{
    return s->advs && s->npending ? s->advs->next_us : INT64_MAX;
}

bool advs_any(const struct sched *s)
{
    return s->advs && s->advs->n;
}

void advs_each_edge(struct sched *s, void (*fn)(struct sched *s, int64_t at_us))
{
    for (uint32_t i = 0; s->advs && i < s->advs->nwins; i++) {
        fn(s, s->advs->wins[i].start_us);
        fn(s, s->advs->wins[i].end_us);
    }
}

int64_t adv_edge(const struct sched *s, int64_t after_us)
{
    int64_t edge = INT64_MAX;

    for (uint32_t i = 0; s->advs && i < s->advs->nwins; i++) {
        const struct advwin *w = &s->advs->wins[i];

        if (w->start_us > after_us)
            edge = MIN(edge, w->start_us);
        if (w->end_us > after_us)
            edge = MIN(edge, w->end_us);
    }
    return edge;
}
