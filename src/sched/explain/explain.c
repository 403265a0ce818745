/* explain.c - why a job does not start; see sched_explain.h.
 *
 * The heads that go before the job get reservations, as backfill gives them (all jobs that go
 * before it get their places when it is conservative); every question is then put to selection
 * beside these.  Nothing is guessed: a change is named when selection and layout took the
 * changed job. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/explain/explain_int.h"
#include "sched/plan/profile.h"

void sched_explanation_done(struct sched_explanation *x)
{
    for (size_t i = 0; i < x->nparts; i++) {
        free(x->parts[i].not_up);
        free(x->parts[i].expected_nodes);
    }
    free(x->parts);
    *x = (struct sched_explanation){ 0 };
}

/* ---- who goes before ------------------------------------------------------------------------- */

static bool goes_before(const struct sched *s, const struct entry *a, const struct entry *b)
{
    uint32_t x = s->parts[a->part]->tier, y = s->parts[b->part]->tier;

    return x != y ? x > y : entry_before(a, b);
}

/* The entries that their partitions wait for and that go before e, in order. */
static uint32_t heads_before(const struct ex *x, const struct entry *e, struct entry **heads)
{
    const struct sched *s = x->s;
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->nparts; i++) {
        struct entry *h = s->parts[i]->up ? s->parts[i]->block : NULL;
        uint32_t at;

        if (!h || h->job->id == x->job_id || !goes_before(s, h, e))
            continue;
        for (at = n++; at && goes_before(s, h, heads[at - 1]); at--)
            heads[at] = heads[at - 1];
        heads[at] = h;
    }
    return n;
}

int ex_fits(const struct ex *x, struct entry *e, int64_t end_us, struct sched_alloc *ret)
{
    struct pick p = {
        .s = x->s, .cls = e->cls, .part = x->s->parts[e->part], .overlay = true, .end_us = end_us
    };
    uint32_t which;
    int r = lics_fit(x->s, &e->job->want, end_us, &which);

    if (r == 1 && x->s->prof) {
        p.overlay = false;
        return prof_search(&p, &e->job->want, e->job->time_limit_min, 0, true, ret);
    }
    return r == 1 ? pick_layout(&p, ret) : r;
}

static int reserve_one(struct ex *x, struct entry *h)
{
    struct sched *s = x->s;
    struct pick p = {
        .s = s, .cls = h->cls, .part = s->parts[h->part], .pad = true, .lics = &h->job->want
    };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    _cleanup_free_ struct resv_node *spare = NULL;
    int64_t start_us = 0;
    int r;

    if (entry_limits(s, h))
        return 0;
    r = ex_fits(x, h, end_after(x->now_us, h->job->time_limit_min), &alloc);
    if (r == 1)
        x->settled = false;
    if (r != 0)
        return r < 0 ? r : 0;
    r = plan(&p, x->now_us, &start_us, &alloc, &spare);
    if (r == 1)
        r = resv_add(s, h->part, start_us, &alloc, &spare, &h->job->want);
    if (r == 0 && s->nresvs && x->nholds < s->nresvs)
        x->holds[x->nholds++] = h->job->id;
    return r < 0 ? r : 0;
}

/* Places for all that go before e; they are the same whatever else e asks for. */
static int plan_before(struct ex *x, const struct entry *e)
{
    struct bf b = { .s = x->s, .now_us = x->now_us };
    uint32_t tier = x->s->parts[e->part]->tier, now = 0;
    int r;

    if (x->reserved && x->tier == tier && x->priority == e->priority)
        return 0;
    r = conservative_ahead(&b, e, &now);
    if (now)
        x->settled = false;
    x->tier = tier;
    x->priority = e->priority;
    x->reserved = r >= 0;
    return r;
}

int ex_reserve(struct ex *x, const struct entry *e)
{
    if (x->s->params.conservative)
        return plan_before(x, e);

    _cleanup_free_ struct entry **heads = malloc((x->s->nparts + 1) * sizeof(struct entry *));
    uint32_t n;
    int r = 0;

    if (!heads)
        return -ENOMEM;
    n = heads_before(x, e, heads);
    if (x->reserved && n == x->nheads && !memcmp(heads, x->heads, n * sizeof(struct entry *)))
        return 0;
    resvs_clear(x->s);
    x->nholds = 0;
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = reserve_one(x, heads[i]);
    memcpy(x->heads, heads, n * sizeof(struct entry *));
    x->nheads = n;
    x->reserved = r >= 0;
    return r;
}

int ex_starts(struct ex *x, const struct sched_job *job)
{
    struct sched *s = x->s;
    struct sched_limit_hit hit;
    struct job *j;
    int r = job_build(s, job, &j);

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    r = 0;
    for (uint32_t i = 0; r == 0 && i < j->nentries; i++) {
        _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
        struct entry *e = j->entries[i];

        if (entry_limits(s, e))
            continue;
        e->priority = entry_priority(s, e, x->now_us);
        r = ex_reserve(x, e);
        if (r == 0)
            r = ex_fits(x, e, end_after(x->now_us, j->time_limit_min), &alloc);
        if (r == 1 &&
            (limit_hit(s, e, NULL, x->now_us, &hit) || limit_hit(s, e, &alloc, x->now_us, &hit)))
            r = 0; /* there would be room, but not for it */
    }
    job_free(s, j);
    return r;
}

/* ---- the nodes of a partition ---------------------------------------------------------------- */

static const struct bitmap *lookup_feature(void *arg, const char *name, size_t len)
{
    const struct sched *s = arg;
    uint32_t id = strtab_find(&s->feature_tab, name, len);

    return id < s->nfeatures ? s->features[id] : NULL;
}

/* Nodes of the partition that the constraint lets in, in any alternative. */
static int featured(const struct ex *x, const struct entry *e, struct bitmap **ret)
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
            r = constraint_mask(f, i, lookup_feature, x->s, one);
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

static bool admits(const struct pick *p, uint32_t id)
{
    uint32_t most_tasks = 0;

    return node_admits(p, id, &most_tasks);
}

/* What of the hardware does not do, for a node that never admits the job. */
static enum explain_cause hardware(const struct pick *p, uint32_t id)
{
    struct shape_key no_mem = *p->k, no_gres = *p->k, neither;
    struct pick q = *p;

    no_mem.mem_per_node_mib = no_mem.mem_per_cpu_mib = 0;
    no_mem.flags &= ~(uint32_t)SHAPE_MEM_PER_NODE;
    no_gres.ngres = 0;
    neither = no_mem;
    neither.ngres = 0;
    q.k = &no_mem;
    if (admits(&q, id))
        return EXPLAIN_MEMORY;
    q.k = &no_gres;
    if (admits(&q, id))
        return EXPLAIN_GRES;
    q.k = &neither;
    return admits(&q, id) ? EXPLAIN_MEMORY : EXPLAIN_CPUS;
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
    if (!admits(&p, id))
        return hardware(&p, id);
    if (!bitmap_test(x->s->up, id))
        return EXPLAIN_NOT_UP;
    p.idle = false;
    if (!node_fit(&p, id, &f))
        return EXPLAIN_HELD;
    if (x->s->prof) {
        prof_span(&p, 0, e->job->time_limit_min);
    } else {
        p.overlay = true;
        p.end_us = end_after(x->now_us, e->job->time_limit_min);
    }
    return node_fit(&p, id, &f) ? EXPLAIN_FREE : EXPLAIN_KEPT;
}

void ex_add_holder(struct explain_holder *list, uint32_t *n, uint32_t *all,
                   const struct explain_holder *h)
{
    uint32_t at;

    ++*all;
    if (*n == EXPLAIN_HOLDERS && h->end_us >= list[EXPLAIN_HOLDERS - 1].end_us)
        return;
    if (*n < EXPLAIN_HOLDERS)
        ++*n;
    for (at = *n - 1; at && list[at - 1].end_us > h->end_us; at--)
        list[at] = list[at - 1];
    list[at] = *h;
}

/* Running jobs on nodes of `held`. */
static void find_holders(const struct ex *x, const struct bitmap *held, struct explain_part *out)
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

/* For whom is this node kept? */
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

static int look_at_nodes(struct ex *x, struct entry *e, struct explain_part *out)
{
    struct part *part = x->s->parts[e->part];
    _cleanup_(bitmap_free) struct bitmap *have = NULL;
    _cleanup_(bitmap_free) struct bitmap *held = NULL;
    int r = featured(x, e, &have);

    if (r == 0)
        r = bitmap_new(x->s->nbits, &held);
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
        out->causes[c]++;
        out->total++;
        out->suitable += c >= EXPLAIN_NOT_UP;
    }
    find_holders(x, held, out);
    return 0;
}

/* ---- queue and time -------------------------------------------------------------------------- */

static void find_place(const struct ex *x, const struct entry *e, struct explain_part *out)
{
    const struct part *p = x->s->parts[e->part];
    bool there = false;

    out->place = 1;
    for (const struct entry *o = p->head[0]; o; o = o->next[0]) {
        there |= o->job->id == x->job_id;
        if (o->job->id != x->job_id && entry_before(o, e))
            out->place++;
    }
    out->queued = p->nqueued + !there;
}

static int expect(struct ex *x, struct entry *e, struct explain_part *out)
{
    struct sched *s = x->s;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part] };
    _cleanup_val_(alloc_done) struct sched_alloc alloc = { 0 };
    _cleanup_free_ struct resv_node *spare = NULL;
    int64_t start_us = x->now_us;
    int r = ex_fits(x, e, end_after(x->now_us, e->job->time_limit_min), &alloc);

    if (r == 1) {
        x->starts_now = true;
    } else if (r == 0 && s->prof) {
        r = prof_search(&p, &e->job->want, e->job->time_limit_min, prof_release(s, 1), false,
                        &alloc);
        start_us = r == 1 ? prof_promise(s, p.from) : 0;
    } else if (r == 0) {
        r = plan(&p, x->now_us, &start_us, &alloc, &spare);
    }
    if (r <= 0)
        return r;
    out->expected_us = start_us;
    out->expected_nodes = malloc((alloc.nnodes + 1) * sizeof(*out->expected_nodes));
    if (!out->expected_nodes)
        return -ENOMEM;
    for (; out->nexpected < alloc.nnodes; out->nexpected++)
        out->expected_nodes[out->nexpected] = alloc.nodes[out->nexpected].node_id;
    return 0;
}

static int explain_entry(struct ex *x, struct entry *e, struct explain_part *out)
{
    struct sched *s = x->s;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part] };
    uint32_t which;
    int r;

    e->priority = entry_priority(s, e, x->now_us);
    out->name = s->parts_tab.names[e->part];
    out->wanted =
        MAX(MAX(e->cls->shape->key.min_nodes, e->cls->shape->key.nreq), p.part->min_nodes);
    out->why = entry_limits(s, e);
    if (!out->why && limit_hit(s, e, NULL, x->now_us, &out->limit))
        out->why = SCHED_WHY_LIMIT;
    r = ex_reserve(x, e);
    if (!out->why)
        out->why = pick_verdict(&p);
    if (out->why == SCHED_WHY_RESOURCES && (advs_any(s) || e->cls->shape->key.resv)) {
        enum sched_why adv = adv_why(s, e, x->now_us);

        out->why = adv ? adv : out->why;
    }
    if (out->why == SCHED_WHY_RESOURCES && !lics_fit(s, &e->job->want, 0, &which))
        out->why = SCHED_WHY_LICENSES;
    if (r == 0)
        r = look_at_nodes(x, e, out);
    find_place(x, e, out);
    if (r == 0 && (out->why == SCHED_WHY_RESOURCES || out->why == SCHED_WHY_LICENSES))
        r = preempt_explain(s, e, x->now_us, &out->preempt);
    if (r == 0 && out->why == SCHED_WHY_RESOURCES)
        r = expect(x, e, out);
    return r;
}

int sched_explain(struct sched *s, const struct sched_job *job, const char *const *others,
                  size_t nothers, int64_t now_us, struct sched_explanation *ret)
{
    struct ex x = { .s = s, .job_id = job->id, .now_us = now_us, .settled = true };
    struct sched_explanation out = { 0 };
    struct job *j;
    int r = job_build(s, job, &j);

    if (r < 0)
        return r;
    backfill_drop(s);                                /* a plan under way begins anew */
    for (size_t i = 0; i < nothers && r >= 0; i++) { /* known before anything counts partitions */
        struct part *p;

        r = part_get(s, others[i], &p);
    }
    out.parts = calloc(j->nentries + 1, sizeof(*out.parts));
    x.heads = calloc(s->nparts + 1, sizeof(struct entry *));
    x.holds = calloc(s->nparts + 1, sizeof(*x.holds));
    if (r >= 0)
        r = out.parts && x.heads && x.holds ? 0 : -ENOMEM;
    if (r >= 0 && !s->params.conservative)
        r = line_make(s);
    for (uint32_t i = 0; r >= 0 && i < j->nentries; i++) {
        out.nparts = i + 1;
        r = explain_entry(&x, j->entries[i], &out.parts[i]);
    }
    if (r >= 0 && x.settled && !x.starts_now)
        r = ex_changes(&x, job, others, nothers, &out);
    backfill_drop(s);
    ex_licenses(&x, j, &out);
    job_free(s, j);
    free(x.heads);
    free(x.holds);
    if (r < 0) {
        sched_explanation_done(&out);
        return r;
    }
    out.settled = x.settled;
    out.starts_now = x.starts_now;
    *ret = out;
    return 0;
}
