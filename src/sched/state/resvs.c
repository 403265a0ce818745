/* resvs.c - the list of reservations that a backfill has made, and what is left beside each */
#include "sched/state/resvs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/alloc.h"
#include "sched/state/gresrow.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"

/* What the nodes of a would have left beside it, as things stand.  NULL = out of memory. */
struct resv_node *spare_of(struct sched *s, const struct sched_alloc *a, uint32_t part)
{
    const struct part *p = s->parts[part];
    struct resv_node *spare;
    uint64_t *gres;
    size_t rows = 0;

    for (size_t i = 0; i < a->nnodes; i++)
        rows += s->nodes[a->nodes[i].node_id].ngres;
    spare = calloc(1, (a->nnodes + 1) * sizeof(*spare) + rows * sizeof(*gres));
    gres = (uint64_t *)(void *)(spare + a->nnodes + 1);
    for (size_t i = 0; spare && i < a->nnodes; i++) {
        const struct sched_alloc_node *an = &a->nodes[i];
        struct node *n = &s->nodes[an->node_id];
        uint64_t used = n->mem_used + an->mem_mib;

        spare[i].spare_gres = gres;
        gres += n->ngres;
        spare[i].spare_mem = n->mem_mib > used ? n->mem_mib - used : 0;
        if (p->node_cpus) {
            used = (uint64_t)p->node_cpus[an->node_id] + an->cpus;
            spare[i].spare_part_cpus =
                p->max_cpus_per_node > used ? p->max_cpus_per_node - (uint32_t)used : 0;
        }
        for (uint32_t row = 0; row < n->ngres; row++)
            spare[i].spare_gres[row] =
                n->gres[row].total > n->gres[row].used ? n->gres[row].total - n->gres[row].used : 0;
        for (size_t g = 0; g < an->ngres; g++) {
            struct gres_row *row = node_gres_row(s, n, &an->gres[g]);
            uint64_t *left = row ? &spare[i].spare_gres[row - n->gres] : NULL;

            if (left)
                *left -= MIN(*left, an->gres[g].count);
        }
    }
    return spare;
}

int resvs_room(struct sched *s)
{
    uint32_t cap = s->cap_resvs ? s->cap_resvs * 2 : 8;
    struct resv *grown;

    if (s->nresvs < s->cap_resvs)
        return 0;
    grown = realloc(s->resvs, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->resvs = grown;
    s->cap_resvs = cap;
    return 0;
}

void resv_free(struct resv *r)
{
    bitmap_free(r->nodes);
    free(r->before);
    alloc_done(&r->alloc);
    free(r->spare);
    lics_free(&r->lics);
    free(r->spare_lic);
}

void resvs_clear(struct sched *s)
{
    for (uint32_t i = 0; i < s->nresvs; i++)
        if (!s->resvs[i].lent)
            resv_free(&s->resvs[i]);
    s->nresvs = 0;
}
