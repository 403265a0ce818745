/* picktopo.c - several nodes for a job of a partition that has a topology.
 *
 * The question is put in terms of src/sched/topo: which nodes are candidates, and how much of the
 * job each one holds.  That is found out for a kind of nodes at once where it depends on nothing
 * else, as it does for whole nodes; so the cost of a job is that of counting bits. */
#include "sched/select/picktopo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_view.h"
#include "sched/sched.h"
#include "sched/select/fit.h"
#include "sched/select/hrespick.h"
#include "sched/select/picksum.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/kinds.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"
#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"
#include "sched/topo/topochoose.h"

_Static_assert(SHAPE_PER_JOB_MAX < TOPO_CAPS_MAX, "tasks, and what the job asks for as a whole");

/* ---- whose rules hold ------------------------------------------------------------------------ */

/* Other orders go before a tree's. */
static bool tree_decides(const struct pick *p, const struct topo_spec *spec)
{
    const struct shape_key *k = p->k;

    if ((spec->flags & TOPO_OPTIONAL && !k->switches) || pick_by_load(p) ||
        k->flags & (SHAPE_SPREAD | SHAPE_CONTIGUOUS))
        return false;
    return p->max > 1 || shape_must(p->cls->shape);
}

/* Does another job hold anything on the node while the job would run? */
static bool is_occupied(const struct pick *p, uint32_t id)
{
    const struct sched *s = p->s;
    const struct node *n = &s->nodes[id];

    if (p->plan)
        return prof_view(p->s, id, p->from, p->until, p->end_us)->held;
    for (uint32_t i = 0; p->overlay && i < s->nresvs; i++)
        if (s->resvs[i].start_us < p->end_us && bitmap_test(s->resvs[i].nodes, id))
            return true;
    /* where jobs are moved about for a try only what holds CPUs is moved */
    return n->nrun || (n->njobs && !s->travelling);
}

static bool unit_is_occupied(const struct pick *p, const struct topo_span *spans, uint32_t n)
{
    for (uint32_t i = 0; i < n && spans[i].word < p->s->cand->nwords; i++) {
        for (uint64_t m = spans[i].mask; m; m &= m - 1) {
            uint32_t id = spans[i].word * 64 + (uint32_t)__builtin_ctzll(m);

            if (id < p->s->nnodes && p->s->nodes[id].exists && is_occupied(p, id))
                return true;
        }
    }
    return false;
}

/* A job that closes its units begins in units that hold no job. */
static void leave_occupied(const struct pick *p)
{
    const struct topo_bits *bits = topo_get_bits(p->part->topo);
    struct bitmap *cand = p->s->cand;

    for (uint32_t i = 0; i < topo_get_spec(p->part->topo)->nunits; i++) {
        uint32_t n;
        const struct topo_span *spans = topo_unit_spans(bits, i, &n);

        if (!topo_unit_count(bits, i, cand->words, cand->nwords) || !unit_is_occupied(p, spans, n))
            continue;
        for (uint32_t k = 0; k < n && spans[k].word < cand->nwords; k++)
            cand->words[spans[k].word] &= ~spans[k].mask;
    }
}

bool topo_decides(const struct pick *p, const struct calt *a)
{
    const struct topo *topo = p->part->topo;
    const struct topo_spec *spec = topo_get_spec(topo);
    struct sched *s = p->s;

    if (spec->kind == TOPO_TREE)
        return !a->ncounts && tree_decides(p, spec);
    if (p->closes && !p->idle)
        leave_occupied(p);
    bitmap_copy(s->dup, s->cand);
    topo_keep_members(topo_get_bits(topo), s->dup->words, s->dup->nwords);
    if (bitmap_empty(s->dup))
        return false; /* as if flat */
    bitmap_copy(s->cand, s->dup);
    if (a->ncounts)
        return false;
    return spec->kind != TOPO_BLOCK || p->max > 1 || p->k->segment_size ||
           shape_must(p->cls->shape);
}

/* ---- how much nodes hold --------------------------------------------------------------------- */

/* What has_enough() adds up, as the topology sees it. */
static void fill_needs(const struct pick *p, struct topo_ask *ask)
{
    if (p->tasks)
        ask->need[ask->ncaps++] = p->tasks;
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        ask->need[ask->ncaps++] = p->k->gres[i].per_job;
}

static void caps_of(const struct pick *p, const struct fit *f, uint32_t *ret)
{
    uint32_t n = 0;

    if (p->tasks)
        ret[n++] = f->tasks;
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        ret[n++] = f->gres[i];
}

/* Does what a node holds depend on its kind alone? */
static bool by_kind(const struct pick *p)
{
    return !p->k->nlisted && (p->idle || (p->whole && !p->s->advs));
}

static int reserve_caps(struct sched *s, const struct topo_ask *ask)
{
    size_t n = (size_t)s->nbits * MAX(ask->ncaps, 1u);

    if (s->ncap_topo_caps < n) {
        uint32_t *grown = realloc(s->topo_caps, n * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->topo_caps = grown;
        s->ncap_topo_caps = n;
    }
    return 0;
}

/* Candidates that hold nothing of the job leave; the others' caps are noted. */
static int look_at_each(struct pick *p, struct topo_ask *ask, const struct bitmap *of)
{
    struct sched *s = p->s;
    int r = reserve_caps(s, ask);

    for (uint32_t w = 0; r == 0 && w < s->cand->nwords; w++) {
        for (uint64_t m = of ? s->cand->words[w] & of->words[w] : s->cand->words[w]; m;
             m &= m - 1) {
            uint32_t id = w * 64 + (uint32_t)__builtin_ctzll(m);
            struct fit f;

            if (!node_fit(p, id, &f))
                bitmap_clear(s->cand, id);
            else if (ask->ncaps)
                caps_of(p, &f, &s->topo_caps[(size_t)id * ask->ncaps]);
        }
    }
    ask->caps = ask->ncaps ? s->topo_caps : NULL;
    return r;
}

static void spread_caps(struct sched *s, const struct topo_ask *ask, const struct bitmap *of,
                        const uint32_t *caps)
{
    for (uint32_t w = 0; w < s->cand->nwords; w++)
        for (uint64_t m = s->cand->words[w] & of->words[w]; m; m &= m - 1)
            memcpy(&s->topo_caps[(size_t)(w * 64 + (uint32_t)__builtin_ctzll(m)) * ask->ncaps],
                   caps, ask->ncaps * sizeof(*caps));
}

/* The first candidate of a kind speaks for all of them.  False when there is none that holds a
 * part of the job. */
static bool look_at_kind(struct pick *p, const struct kind *k, uint32_t *ret_caps)
{
    struct sched *s = p->s;
    struct fit f;

    for (uint32_t w = 0; w < s->cand->nwords; w++) {
        uint64_t m = s->cand->words[w] & k->nodes->words[w];

        if (!m)
            continue;
        if (node_fit(p, w * 64 + (uint32_t)__builtin_ctzll(m), &f)) {
            caps_of(p, &f, ret_caps);
            return true;
        }
        bitmap_andnot(s->cand, k->nodes);
        return false;
    }
    return false;
}

static int look_at_kinds(struct pick *p, struct topo_ask *ask)
{
    struct sched *s = p->s;
    bool first = true, alike = !bitmap_overlaps(s->cand, s->odd);
    uint32_t caps[TOPO_CAPS_MAX];

    for (uint32_t i = 0; i < s->nkinds; i++) {
        if (!look_at_kind(p, &s->kinds[i], caps))
            continue;
        if (first)
            memcpy(ask->each, caps, ask->ncaps * sizeof(*caps));
        else if (memcmp(ask->each, caps, ask->ncaps * sizeof(*caps)) != 0)
            alike = false;
        first = false;
    }
    if (alike)
        return 0;
    if (look_at_each(p, ask, s->odd) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; ask->ncaps && i < s->nkinds; i++)
        if (look_at_kind(p, &s->kinds[i], caps))
            spread_caps(s, ask, s->kinds[i].nodes, caps);
    return 0;
}

/* Nodes on which something is reserved before the job would end are of no use to one that takes
 * whole nodes. */
static void leave_reserved(const struct pick *p)
{
    for (uint32_t i = 0; p->overlay && p->whole && i < p->s->nresvs; i++)
        if (p->s->resvs[i].start_us < p->end_us)
            bitmap_andnot(p->s->cand, p->s->resvs[i].nodes);
}

/* ---- weights --------------------------------------------------------------------------------- */

static int find_weights(struct pick *p, struct topo_ask *ask)
{
    struct sched *s = p->s;
    uint32_t seen = 0;

    for (uint32_t c = 0; c < s->nwclasses; c++)
        seen += bitmap_overlaps(s->cand, s->wclasses[c].nodes);
    if (seen < 2)
        return 0;
    if (s->ncap_topo_weight < s->nbits) {
        uint32_t *grown = realloc(s->topo_weight, s->nbits * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        s->topo_weight = grown;
        s->ncap_topo_weight = s->nbits;
    }
    for (uint32_t c = 0; c < s->nwclasses; c++)
        for (uint32_t w = 0; w < s->cand->nwords; w++)
            for (uint64_t m = s->cand->words[w] & s->wclasses[c].nodes->words[w]; m; m &= m - 1)
                s->topo_weight[w * 64 + (uint32_t)__builtin_ctzll(m)] = c;
    ask->weight = s->topo_weight;
    return 0;
}

/* ---- required nodes -------------------------------------------------------------------------- */

/* Does the list of nodes only say which ones may be chosen?  So it is for segments, and on rings,
 * and it must then be long enough. */
static bool is_filter(const struct pick *p, const struct topo_ask *ask)
{
    enum topo_kind kind = topo_get_spec(ask->topo)->kind;

    return kind == TOPO_RING || (kind != TOPO_TREE && ask->segment && ask->segment < p->min);
}

static bool required_are_free(const struct pick *p, const struct topo_ask *ask)
{
    for (uint32_t i = 0; i < ask->nreq; i++)
        if (ask->req[i] >= p->s->nbits || !bitmap_test(p->s->cand, ask->req[i]))
            return false;
    return true;
}

/* 1, or 0 with p->topo when the list rules out any place. */
static int fill_required(struct pick *p, struct topo_ask *ask)
{
    const struct shape *sh = p->cls->shape;
    struct sched *s = p->s;

    ask->req = sh->nodes;
    ask->nreq = shape_must(sh);
    if (!ask->nreq || !is_filter(p, ask))
        return ask->nreq <= p->max;
    if (ask->nreq < p->min) {
        p->topo = TOPO_WHY_NEVER;
        return 0;
    }
    bitmap_zero(s->dup);
    for (uint32_t i = 0; i < ask->nreq; i++)
        if (ask->req[i] < s->nbits)
            bitmap_set(s->dup, ask->req[i]);
    bitmap_and(s->cand, s->dup);
    ask->nreq = 0;
    return 1;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int note_chosen(struct pick *p)
{
    struct topo_space *sp = &p->s->topo_space;
    struct fit f;

    for (uint32_t i = 0; i < sp->nchosen; i++) {
        if (!node_fit(p, sp->chosen[i], &f))
            return 0;
        f.wclass = 0; /* nobody asks any more */
        if (push_fit(&p->s->chosen, &f) < 0)
            return -ENOMEM;
    }
    return 1;
}

/* The topology does not count what layers of resources allow.  Of each leaf layer it is offered
 * what that allows.  A choice that is too much for a layer above is made again among fewer. */
static int choose_nodes(struct pick *p, struct topo_ask *ask)
{
    struct sched *s = p->s;
    struct topo_space *sp = &s->topo_space;
    int r = 1;

    if (!p->counted)
        return topo_choose(ask, sp);
    bitmap_copy(s->dup, s->cand); /* the topology takes bits away */
    for (int whole = 0; whole < 2; whole++) {
        bitmap_copy(s->cand, s->dup);
        if (!hres_thin(p, s->cand, ask->req, ask->nreq, whole))
            return 0;
        r = topo_choose(ask, sp);
        if (r != 1 || hres_allows(p, sp->chosen, sp->nchosen))
            break;
        r = 0;
    }
    return r;
}

int choose_by_topo(struct pick *p)
{
    struct sched *s = p->s;
    const struct shape_key *k = p->k;
    struct topo_ask ask = { .topo = p->part->topo,
                            .cand = s->cand->words,
                            .nwords = s->cand->nwords,
                            .min = p->min,
                            .max = p->max,
                            .want = MIN(MAX(p->prefer, p->min), p->max),
                            .segment = k->segment_size,
                            .spread = k->flags & SHAPE_SPREAD_SEGMENTS,
                            .consolidate = k->flags & SHAPE_CONSOLIDATE,
                            .switches = p->idle ? 0 : k->switches, /* it may wait that long */
                            .fixed_want = p->cls->shape->npj > 0,
                            .keep = s->params.keep_segments };
    int r = fill_required(p, &ask);

    if (r <= 0)
        return r;
    fill_needs(p, &ask);
    leave_reserved(p);
    r = by_kind(p) ? look_at_kinds(p, &ask) : look_at_each(p, &ask, NULL);
    if (r == 0)
        r = find_weights(p, &ask);
    if (r < 0)
        return r;
    if (!required_are_free(p, &ask) || bitmap_count(s->cand) < p->min)
        return 0;
    r = choose_nodes(p, &ask);
    if (r == 1)
        return note_chosen(p);
    p->topo = s->topo_space.why;
    return r;
}
