/* explain_nodes.c - why each node of a partition is of no use to a job now */
#include "sched/explain/explain_nodes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/explain/explain_lic.h"
#include "sched/explain/explain_try.h"
#include "sched/explain/explain_units.h"
#include "sched/explain/sched_explain.h"
#include "sched/plan/prof_search.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_view.h"
#include "sched/rules/spares.h"
#include "sched/select/fit.h"
#include "sched/select/nodeview.h"
#include "sched/state/classes.h"
#include "sched/base/constraint.h"
#include "sched/base/extra.h"
#include "sched/state/endtime.h"
#include "sched/state/fits.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

/* Nodes of the partition that the constraint lets in, in any alternative. */
static int list_featured(const struct ex *x, const struct entry *e, struct bitmap **ret)
{
    const struct constraint *f = e->cls->shape->features;
    struct part *part = x->s->parts[e->part];
    _cleanup_(bitmap_free) struct bitmap *one = NULL;
    int r;

    if (!f)
        return bitmap_dup(part->nodes, ret);
    r = bitmap_new(x->s->nbits, ret);
    for (uint32_t i = 0; r == 0 && i < constraint_alts(f); i++) {
        one = bitmap_free(one);
        r = bitmap_dup(part->nodes, &one);
        if (r == 0)
            r = constraint_mask(f, i, feature_nodes, x->s, one);
        if (r == 0)
            bitmap_or(*ret, one);
    }
    return r;
}

static bool is_excluded(const struct shape *sh, uint32_t id)
{
    for (uint32_t i = 0; i < sh->key.nexc; i++)
        if (sh->nodes[sh->key.nreq + i] == id)
            return true;
    return false;
}

static bool admits_node(const struct pick *p, uint32_t id)
{
    uint32_t most_tasks = 0;

    return node_admits(p, id, &most_tasks);
}

/* What of the hardware does not do, for a node that never admits the job. */
static enum explain_cause missing_hardware(const struct pick *p, uint32_t id)
{
    struct shape_key no_mem = *p->k, no_gres = *p->k, neither;
    struct pick q = *p;

    no_mem.mem_per_node_mib = no_mem.mem_per_cpu_mib = 0;
    no_mem.flags &= ~(uint32_t)SHAPE_MEM_PER_NODE;
    no_gres.ngres = 0;
    neither = no_mem;
    neither.ngres = 0;
    q.k = &no_mem;
    if (admits_node(&q, id))
        return EXPLAIN_MEMORY;
    q.k = &no_gres;
    if (admits_node(&q, id))
        return EXPLAIN_GRES;
    q.k = &neither;
    return admits_node(&q, id) ? EXPLAIN_MEMORY : EXPLAIN_CPUS;
}

static enum explain_cause cause_of(const struct ex *x, const struct entry *e,
                                   const struct bitmap *have, uint32_t id)
{
    struct pick p = { .s = x->s, .cls = e->cls, .part = x->s->parts[e->part], .idle = true };
    struct fit f;

    pick_init(&p);
    if (is_excluded(e->cls->shape, id))
        return EXPLAIN_EXCLUDED;
    if (!bitmap_test(have, id))
        return EXPLAIN_FEATURES;
    if (e->cls->shape->extra && !extra_admits(e->cls->shape->extra, x->s->nodes[id].extra))
        return EXPLAIN_EXTRA;
    if (!admits_node(&p, id))
        return missing_hardware(&p, id);
    if (!bitmap_test(x->s->up, id))
        return EXPLAIN_NOT_UP;
    p.idle = false;
    if (!node_fit(&p, id, &f))
        return EXPLAIN_HELD;
    if (spares_hold(&p, id))
        return EXPLAIN_SPARE;
    if (x->s->prof) {
        prof_span(&p, 0, e->job->time_limit_min);
    } else {
        p.overlay = true;
        p.end_us = end_after(x->now_us, e->job->time_limit_min);
    }
    return node_fit(&p, id, &f) ? EXPLAIN_FREE : EXPLAIN_KEPT;
}

/* Running jobs on nodes of `held`. */
static void find_node_holders(const struct ex *x, const struct bitmap *held,
                              struct explain_part *out)
{
    struct holders_iter it = { 0 };

    for (const struct job *j; (j = holders_next(x->s, &it));) {
        struct explain_holder h = { 0 };

        for (size_t k = 0; k < j->alloc.nnodes; k++)
            h.nodes += bitmap_test(held, j->alloc.nodes[k].node_id);
        h.job_id = j->id;
        h.end_us = j->end_us;
        if (h.nodes && j->id != x->job_id)
            ex_add_holder(out->holders, &out->nholders, &out->nholding, &h);
    }
}

/* For which job is this node kept? */
static void note_keeper(const struct ex *x, const struct entry *e, uint32_t id,
                        struct explain_part *out)
{
    if (!out->kept_for && x->s->prof)
        out->kept_for =
            prof_keeper(x->s, id, prof_until(x->s, 0, e->job->time_limit_min), &out->kept_us);
    for (uint32_t i = 0; !out->kept_for && i < x->s->nresvs && i < x->nholds; i++) {
        if (!bitmap_test(x->s->resvs[i].nodes, id))
            continue;
        out->kept_for = x->holds[i];
        out->kept_us = x->s->resvs[i].start_us;
    }
}

int ex_look_at_nodes(struct ex *x, struct entry *e, struct explain_part *out)
{
    struct part *part = x->s->parts[e->part];
    _cleanup_(bitmap_free) struct bitmap *have = NULL;
    _cleanup_(bitmap_free) struct bitmap *held = NULL;
    _cleanup_(bitmap_free) struct bitmap *open = NULL;
    int r = list_featured(x, e, &have);

    if (r == 0)
        r = bitmap_new(x->s->nbits, &held);
    if (r == 0)
        r = bitmap_new(x->s->nbits, &open);
    out->not_up = r == 0 ? malloc((bitmap_count(part->nodes) + 1) * sizeof(*out->not_up)) : NULL;
    if (r < 0 || !out->not_up)
        return -ENOMEM;
    BITMAP_FOREACH (part->nodes, id) {
        enum explain_cause c = cause_of(x, e, have, id);

        if (c == EXPLAIN_NOT_UP)
            out->not_up[out->causes[c]] = id;
        if (c == EXPLAIN_HELD)
            bitmap_set(held, id);
        if (c == EXPLAIN_KEPT)
            note_keeper(x, e, id, out);
        if (c == EXPLAIN_FREE)
            bitmap_set(open, id);
        out->causes[c]++;
        out->total++;
        out->suitable += c >= EXPLAIN_NOT_UP;
    }
    find_node_holders(x, held, out);
    ex_look_at_units(x, e, open, out);
    return 0;
}
