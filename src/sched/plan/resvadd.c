/* resvadd.c - making a reservation, and what jobs started beside it take from its spare */
#include "sched/plan/resvadd.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/keptplan.h"
#include "sched/rules/hrescharge.h"
#include "sched/rules/licfit.h"
#include "sched/sched.h"
#include "sched/state/gresrow.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

static uint64_t left_then(const void *ctx, const struct sched *s, uint32_t lic)
{
    (void)ctx;
    return license_unused(&s->lics[lic]);
}

/* What is free of each licence at start_us (every job that ends until then is gone), less what
 * is reserved. */
static int reserve_lics(struct sched *s, const struct job_lics *want, int64_t start_us,
                        const struct sched_alloc *alloc, struct job_lics *ret, uint64_t **ret_spare)
{
    uint32_t to = 0, which = 0;
    int r;

    while (to < s->nline && s->line[to]->end_us <= start_us)
        lics_release(s, &s->line[to++]->held);
    for (uint32_t i = 0; i < s->nresvs; i++)
        lics_take(s, &s->resvs[i].lics);
    (void)lics_fit(s, want, 0, &which); /* it does: which one was asked */
    r = s->params.bf_licenses ? hres_charge(s, want, which, alloc, left_then, NULL, ret) : 0;
    if (r == 0) /* layers are not planned, or, beside a reservation of licences, not there */
        r = hres_leave_out(s, want, which, ret);
    r = MIN(r, 0);
    if (r == 0) {
        lics_take(s, ret);
        *ret_spare = lics_spare(s);
        lics_release(s, ret);
        r = *ret_spare ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < s->nresvs; i++)
        lics_release(s, &s->resvs[i].lics);
    while (to)
        lics_take(s, &s->line[--to]->held);
    return r;
}

int resv_add(struct sched *s, uint32_t part, int64_t start_us, struct sched_alloc *alloc,
             struct resv_node **spare, const struct job_lics *want)
{
    _cleanup_val_(lics_free) struct job_lics lics = { 0 };
    _cleanup_free_ uint64_t *spare_lic = NULL;
    struct bitmap *nodes;
    uint32_t *before;
    int r = resvs_room(s);

    if (r < 0)
        return r;
    if (want->n) {
        r = reserve_lics(s, want, start_us, alloc, &lics, &spare_lic);
        if (r < 0)
            return r;
    }
    r = bitmap_new(s->nbits, &nodes);
    before = r == 0 ? malloc((nodes->nwords + 1) * sizeof(*before)) : NULL;
    if (!before) {
        if (r == 0)
            bitmap_free(nodes);
        return -ENOMEM;
    }
    for (size_t i = 0; i < alloc->nnodes; i++)
        bitmap_set(nodes, alloc->nodes[i].node_id);
    for (uint32_t w = 0, n = 0; w < nodes->nwords; w++) {
        before[w] = n;
        n += (uint32_t)__builtin_popcountll(nodes->words[w]);
    }
    s->resvs[s->nresvs++] = (struct resv){ .part = part,
                                           .start_us = start_us,
                                           .nodes = nodes,
                                           .before = before,
                                           .alloc = *alloc,
                                           .spare = TAKE_PTR(*spare),
                                           .lics = lics,
                                           .nspare_lic = spare_lic ? s->nlics : 0,
                                           .spare_lic = TAKE_PTR(spare_lic) };
    lics = (struct job_lics){ 0 };
    *alloc = (struct sched_alloc){ 0 };
    return 0;
}

static void charge_node(struct sched *s, struct resv_node *spare, const struct sched_alloc_node *an,
                        bool same_part)
{
    struct node *n = &s->nodes[an->node_id];

    spare->spare_mem -= MIN(spare->spare_mem, an->mem_mib);
    if (same_part)
        spare->spare_part_cpus -= MIN(spare->spare_part_cpus, an->cpus);
    for (size_t g = 0; g < an->ngres; g++) {
        struct gres_row *row = node_gres_row(s, n, &an->gres[g]);
        uint64_t *left = row ? &spare->spare_gres[row - n->gres] : NULL;

        if (left)
            *left -= MIN(*left, an->gres[g].count);
    }
}

void resv_charge(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
                 uint32_t part, int64_t end_us)
{
    for (uint32_t i = 0; i < s->nresvs; i++) {
        struct resv *r = &s->resvs[i];
        size_t k = 0;

        if (r->start_us >= end_us)
            continue;
        if (r->lent)
            kept_drop(s); /* no more as it was made */
        for (uint32_t l = 0; l < lics->n; l++)
            if (lics->v[l].id < r->nspare_lic)
                r->spare_lic[lics->v[l].id] -= MIN(r->spare_lic[lics->v[l].id], lics->v[l].count);
        for (size_t x = 0; x < a->nnodes; x++) { /* both are sorted by node */
            while (k < r->alloc.nnodes && r->alloc.nodes[k].node_id < a->nodes[x].node_id)
                k++;
            if (k < r->alloc.nnodes && r->alloc.nodes[k].node_id == a->nodes[x].node_id)
                charge_node(s, &r->spare[k], &a->nodes[x], r->part == part);
        }
    }
}
