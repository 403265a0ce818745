/* topochoose.c - the frame around the kinds: dispatch, what all of them do, and the search without
 * the poorest nodes.
 *
 * Where the nodes of a unit hold too little, or the light ones lie badly, a choice without some of
 * the candidates may do.  They leave one by one, the poorest first; after a while several at once,
 * so that a job that fits nowhere costs a bounded number of tries.  Where only counts of nodes
 * matter, fewer candidates never help. */
#include "sched/topo/topochoose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/topo/topoblock.h"
#include "sched/topo/topokind.h"
#include "sched/topo/toporing.h"
#include "sched/topo/topotorus.h"
#include "sched/topo/topotree.h"

#define SINGLE_STEPS 32u /* nodes that leave one by one */

void topo_space_done(struct topo_space *sp)
{
    free(sp->chosen);
    free(sp->mem);
    free(sp->kept);
    *sp = (struct topo_space){ 0 };
}

/* ---- the search ------------------------------------------------------------------------------ */

static int choose_once(struct topo_ask *a, struct topo_space *sp)
{
    sp->nchosen = 0;
    sp->why = TOPO_WHY_NONE;
    switch (topo_get_spec(a->topo)->kind) {
    case TOPO_BLOCK:
        return topo_choose_block(a, sp);
    case TOPO_TREE:
        return topo_choose_tree(a, sp);
    case TOPO_RING:
        return topo_choose_ring(a, sp);
    case TOPO_TORUS:
        return topo_choose_torus(a, sp);
    case TOPO_FLAT:
        break;
    }
    sp->why = TOPO_WHY_NO_NODES;
    return 0;
}

static uint32_t count_cands(const struct topo_ask *a)
{
    uint32_t n = 0;

    for (uint32_t w = 0; w < a->nwords; w++)
        n += (uint32_t)__builtin_popcountll(a->cand[w]);
    return n;
}

static bool is_required(const struct topo_ask *a, uint32_t id)
{
    for (uint32_t i = 0; i < a->nreq; i++)
        if (a->req[i] == id)
            return true;
    return false;
}

/* What a node is worth to the job: the product of what it holds. */
static uint64_t node_worth(const struct topo_ask *a, uint32_t id)
{
    uint64_t worth = 1;

    for (uint32_t i = 0; a->caps && i < a->ncaps; i++)
        worth *= MIN(a->caps[(size_t)id * a->ncaps + i], 4096u) + 1u;
    return worth;
}

/* Take the poorest candidate out of kept; of equals the first.  False when only required ones are
 * left. */
static bool drop_poorest(const struct topo_ask *a, uint64_t *kept)
{
    uint64_t least = UINT64_MAX;
    uint32_t poorest = TOPO_NONE;

    for (uint32_t w = 0; w < a->nwords; w++) {
        for (uint64_t m = kept[w]; m; m &= m - 1) {
            uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(m);
            uint64_t worth = node_worth(a, id);

            if (worth < least && !is_required(a, id)) {
                least = worth;
                poorest = id;
            }
        }
    }
    if (poorest == TOPO_NONE)
        return false;
    kept[poorest >> 6] &= ~(UINT64_C(1) << (poorest & 63));
    return true;
}

/* Could fewer candidates do what more did not? */
static bool may_retry(const struct topo_ask *a, enum topo_why why)
{
    if (why == TOPO_WHY_WEIGHTS)
        return true;
    return (why == TOPO_WHY_FEW_RESOURCES || why == TOPO_WHY_NODE_LIMIT) && (a->caps || a->weight);
}

int topo_choose(struct topo_ask *a, struct topo_space *sp)
{
    size_t bytes = a->nwords * sizeof(*a->cand);
    uint64_t *kept = topo_space_keep(sp, bytes + 1);
    uint32_t left, step = 1;
    enum topo_why first;
    int r;

    if (!kept)
        return -ENOMEM;
    memcpy(kept, a->cand, bytes);
    r = choose_once(a, sp);
    first = sp->why;
    if (r != 0 || !may_retry(a, first))
        return r;
    memcpy(a->cand, kept, bytes);
    left = count_cands(a);
    for (uint32_t i = 0; r == 0 && left > a->min; i++) {
        for (uint32_t k = 0; k < step && left > a->min; k++, left--)
            if (!drop_poorest(a, kept))
                left = a->min + 1;
        step = i < SINGLE_STEPS ? 1 : step * 2;
        memcpy(a->cand, kept, bytes);
        r = choose_once(a, sp);
    }
    if (r == 0)
        sp->why = first;
    return r;
}
