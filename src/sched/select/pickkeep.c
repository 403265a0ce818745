/* pickkeep.c - see pickkeep.h
 *
 * Jobs of one node come in great numbers.  The first free node, which Slurm gives each of them, is
 * as often as not in a block that had room for a segment until then. */
#include "sched/select/pickkeep.h"

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/select/fit.h"
#include "sched/select/picksum.h"
#include "sched/state/nodes.h"
#include "sched/state/shape.h"
#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"
#include "sched/topo/topokeep.h"

bool pick_keeps(const struct pick *p)
{
    return p->s->params.keep_segments && p->part->topo &&
           topo_get_spec(p->part->topo)->kind == TOPO_BLOCK && !pick_by_load(p) &&
           (p->max == 1 || p->s->nwclasses < 2); /* else lighter nodes together come first */
}

bool pick_keeps_one(const struct pick *p)
{
    return pick_keeps(p) && p->prefer == 1 && !p->k->segment_size && !shape_must(p->cls->shape);
}

static bool take_if_fits(struct pick *p, uint32_t id, uint32_t wclass, struct fit *ret)
{
    struct sum sum = { 0 };

    if (!node_fit(p, id, ret))
        return false;
    ret->wclass = wclass;
    sum_add(p, &sum, ret);
    return has_enough(p, &sum, 1);
}

/* The first that holds the job, of candidates of a weight that are in `of`, or with `outside` are
 * not. */
static bool find_first(struct pick *p, uint32_t wclass, const struct bitmap *of, bool outside,
                       struct fit *ret)
{
    const struct sched *s = p->s;
    const struct bitmap *light = s->wclasses[wclass].nodes;

    for (uint32_t w = 0; w < s->cand->nwords; w++)
        for (uint64_t m =
                 s->cand->words[w] & light->words[w] & (outside ? ~of->words[w] : of->words[w]);
             m; m &= m - 1)
            if (take_if_fits(p, w * 64 + (uint32_t)__builtin_ctzll(m), wclass, ret))
                return true;
    return false;
}

/* Of the unit's nodes in s->dup the first that holds the job.  The others leave s->dup. */
static bool find_in_unit(struct pick *p, uint32_t wclass, uint32_t unit, struct fit *ret)
{
    struct bitmap *dup = p->s->dup;
    uint32_t n;
    const struct topo_span *spans = topo_unit_spans(topo_get_bits(p->part->topo), unit, &n);

    for (uint32_t i = 0; i < n && spans[i].word < dup->nwords; i++) {
        for (uint64_t m = dup->words[spans[i].word] & spans[i].mask; m; m &= m - 1)
            if (take_if_fits(p, spans[i].word * 64 + (uint32_t)__builtin_ctzll(m), wclass, ret))
                return true;
        dup->words[spans[i].word] &= ~spans[i].mask;
    }
    return false;
}

/* Idle nodes, block by block. */
static bool find_in_blocks(struct pick *p, uint32_t wclass, struct fit *ret)
{
    struct sched *s = p->s;
    uint32_t unit;

    bitmap_copy(s->dup, s->cand);
    bitmap_and(s->dup, s->wclasses[wclass].nodes);
    bitmap_and(s->dup, s->idle);
    while ((unit = topokeep_unit(p->part->topo, s->dup->words, s->dup->nwords,
                                 s->params.keep_segments)) != TOPO_NONE)
        if (find_in_unit(p, wclass, unit, ret))
            return true;
    return false;
}

int choose_keeping(struct pick *p)
{
    struct sched *s = p->s;
    struct fit f = { 0 };
    bool found = false;

    for (uint32_t c = 0; c < s->nwclasses && !found; c++)
        found = find_first(p, c, s->idle, true, &f) || find_in_blocks(p, c, &f) ||
                find_first(p, c, s->idle, false, &f);
    return found ? (push_fit(&s->chosen, &f) < 0 ? -ENOMEM : 1) : 0;
}
