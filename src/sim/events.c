/* events.c - see events.h */
#include "sim/events.h"

#include <errno.h>
#include <stdlib.h>

static bool goes_before(const struct sim_event *a, const struct sim_event *b)
{
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->seq < b->seq;
}

void events_done(struct events *e)
{
    free(e->heap);
    *e = (struct events){ 0 };
}

int events_push(struct events *e, int64_t at_us, enum sim_event_kind kind, uint32_t job,
                uint32_t run)
{
    struct sim_event ev = { .at_us = at_us, .seq = e->seq, .kind = kind, .job = job, .run = run };
    size_t i = e->n;

    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 256;
        struct sim_event *grown = realloc(e->heap, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        e->heap = grown;
        e->cap = cap;
    }
    e->seq++;
    e->n++;
    while (i && goes_before(&ev, &e->heap[(i - 1) / 2])) {
        e->heap[i] = e->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    e->heap[i] = ev;
    return 0;
}

const struct sim_event *events_peek(const struct events *e)
{
    return e->n ? &e->heap[0] : NULL;
}

bool events_pop(struct events *e, struct sim_event *ret)
{
    struct sim_event last;
    size_t i = 0;

    if (!e->n)
        return false;
    *ret = e->heap[0];
    last = e->heap[--e->n];
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= e->n)
            break;
        if (child + 1 < e->n && goes_before(&e->heap[child + 1], &e->heap[child]))
            child++;
        if (!goes_before(&e->heap[child], &last))
            break;
        e->heap[i] = e->heap[child];
        i = child;
    }
    if (e->n)
        e->heap[i] = last;
    return true;
}
