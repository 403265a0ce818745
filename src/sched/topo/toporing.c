/* toporing.c - rings: a job, or a segment, gets places that follow each other on one ring.
 *
 * The circle has no end, so the last place is followed by the first.  A ring holds one segment of a
 * job at most. */
#include "sched/topo/toporing.h"

#include "base/cleanup.h"
#include "sched/topo/topokind.h"

struct window { /* places from `at` on */
    uint32_t ring, at;
    uint32_t weight; /* the highest of its nodes */
    uint32_t free;   /* nodes of the ring */
};

/* Are the `len` places from `at` on all candidates, and enough? */
static bool is_free(const struct topo_ask *a, const struct topo_unit_spec *u, uint32_t at,
                    uint32_t len, uint32_t *ret_weight)
{
    struct topo_sum sum = { 0 }, none = { 0 };

    *ret_weight = 0;
    for (uint32_t i = 0; i < len; i++) {
        uint32_t id = u->nodes[(at + i) % u->nnodes];

        if (!topo_is_cand(a, id))
            return false;
        topo_sum_add(a, &sum, id);
        *ret_weight = MAX(*ret_weight, topo_weight_of(a, id));
    }
    return topo_suffices(a, &none, &sum, len);
}

/* The first of the lightest windows of a ring. */
static bool find_window(const struct topo_ask *a, uint32_t ring, uint32_t len, struct window *ret)
{
    const struct topo_unit_spec *u = &topo_get_spec(a->topo)->units[ring];
    bool found = false;

    *ret = (struct window){ .ring = ring, .weight = UINT32_MAX };
    for (size_t i = 0; i < u->nnodes; i++)
        ret->free += topo_is_cand(a, u->nodes[i]);
    if (len > u->nnodes || ret->free < len)
        return false;
    for (uint32_t at = 0; at < u->nnodes; at++) {
        uint32_t weight;

        if (is_free(a, u, at, len, &weight) && weight < ret->weight) {
            ret->at = at;
            ret->weight = weight;
            found = true;
        }
    }
    return found;
}

static int take_window(struct topo_ask *a, struct topo_space *sp, const struct window *w,
                       uint32_t len)
{
    const struct topo_unit_spec *u = &topo_get_spec(a->topo)->units[w->ring];
    struct topo_sum have = { 0 };

    for (uint32_t i = 0; i < len; i++)
        if (topo_take(a, sp, &have, u->nodes[(w->at + i) % u->nnodes]) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < u->nnodes; i++) /* the ring has given what it may */
        if (topo_is_cand(a, u->nodes[i]))
            a->cand[u->nodes[i] >> 6] &= ~(UINT64_C(1) << (u->nodes[i] & 63));
    return 1;
}

/* A window of len places on the lightest, then the fullest ring that has one. */
static int place_window(struct topo_ask *a, struct topo_space *sp, uint32_t len)
{
    struct window best = { .ring = TOPO_NONE }, w;

    for (uint32_t i = 0; i < topo_get_spec(a->topo)->nunits; i++)
        if (find_window(a, i, len, &w) && (best.ring == TOPO_NONE || w.weight < best.weight ||
                                           (w.weight == best.weight && w.free < best.free)))
            best = w;
    return best.ring == TOPO_NONE ? 0 : take_window(a, sp, &best, len);
}

int topo_choose_ring(struct topo_ask *a, struct topo_space *sp)
{
    bool split = a->segment && a->segment < a->min;
    uint32_t segments = split ? a->min / a->segment : 1;
    struct topo_ask part = *a;
    int r = 0;

    if (split && a->min % a->segment) {
        sp->why = TOPO_WHY_NEVER;
        return 0;
    }
    for (uint32_t i = 0; i < a->ncaps; i++)
        part.need[i] = (a->need[i] + segments - 1) / segments;
    if (!split) { /* a job that says only how many tasks it has may need more nodes */
        for (uint32_t len = a->min; r == 0 && len <= MIN(a->max, TOPO_RING_MAX); len++)
            r = place_window(&part, sp, len);
    } else {
        r = 1;
        for (uint32_t i = 0; r == 1 && i < segments; i++)
            r = place_window(&part, sp, a->segment);
    }
    if (r == 0)
        sp->why = split ? TOPO_WHY_NO_SEGMENT : TOPO_WHY_NO_UNIT;
    return r;
}
