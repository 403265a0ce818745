/* preempt.c - which running jobs have to go so that a more important one can start.
 *
 * Candidates are put in order, cheapest first, and really released on the structures that
 * selection reads (s->travelling: capacity does not count as grown) until the job fits.  What
 * the chosen nodes do not need is taken back, then every other victim in turn, dearest first, is
 * tried without: no victim is left that the job could do without.  A second order, large jobs
 * first, may find fewer victims.
 *
 * The preemptor then holds its layout beside its victims, so that nobody else gets what they
 * leave: a claim. It starts on exactly that when all have gone.  Jobs that end anyway are waited
 * for before others are chosen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/gallop.h"
#include "sched/plan/plan.h"
#include "sched/plan/profile.h"
#include "sched/explain/sched_explain.h"
#include "sched/sched_int.h"

#define BF_PREEMPTS_MAX 100u /* searches of one backfill */

struct qos_preempt {
    uint32_t *may, nmay; /* ids of qos_tab */
    enum sched_preempt_mode mode;
    bool within, by_priority;
    bool has_exempt;
    uint32_t exempt_s;
};

struct cand {
    struct job *j;
    enum sched_preempt_mode mode;
    uint32_t qos_priority, tier, size; /* size: CPUs */
    bool out;                          /* released at the moment */
};

struct harm { /* of a set of victims */
    uint32_t qos_priority, tier, n;
    double work; /* CPU time they have used */
};

struct search {
    struct sched *s;
    struct entry *e;
    struct pick p;
    int64_t now_us, retry_us;
    struct job **going; /* end anyway */
    uint32_t ngoing;
    struct cand *v;
    uint32_t n, at; /* the first `at` are released */
};

struct choice {
    struct sched_alloc alloc;
    struct sched_victim *victims;
    uint32_t n;
    struct harm harm;
};

static void choice_done(struct choice *c)
{
    alloc_done(&c->alloc);
    free(c->victims);
    *c = (struct choice){ 0 };
}

static void search_done(struct search *x)
{
    free(x->going);
    free(x->v);
}

/* ---- who may preempt whom -------------------------------------------------------------------- */

static const struct qos_preempt *qos_of(const struct sched *s, const struct job *j)
{
    static const struct qos_preempt none;

    return j->qos < s->nqos_pre ? &s->qos_pre[j->qos] : &none;
}

static bool by_priority(const struct search *x)
{
    const struct sched_preempt *pre = &x->s->params.preempt;

    return pre->by_priority ||
           (pre->type == SCHED_PREEMPT_QOS && qos_of(x->s, x->e->job)->by_priority);
}

static bool outranks(const struct search *x, const struct job *k)
{
    const struct sched *s = x->s;
    const struct sched_preempt *pre = &s->params.preempt;
    const struct qos_preempt *q = qos_of(s, x->e->job);

    if (by_priority(x) && k->run_priority >= x->e->priority)
        return false;
    if (pre->type == SCHED_PREEMPT_PART)
        return s->parts[k->part]->tier < s->parts[x->e->part]->tier;
    if (k->qos == STRTAB_NONE)
        return false;
    if (k->qos == x->e->job->qos)
        return (pre->within || q->within) && k->run_priority < x->e->priority;
    for (uint32_t i = 0; i < q->nmay; i++)
        if (q->may[i] == k->qos)
            return true;
    return false;
}

/* Who keeps to his label neither drives others away nor is driven away by them. */
static bool may_preempt(const struct search *x, const struct job *k)
{
    return k->label == x->e->job->label && outranks(x, k);
}

static enum sched_preempt_mode mode_of(const struct sched *s, const struct job *k)
{
    const struct sched_preempt *pre = &s->params.preempt;
    enum sched_preempt_mode own =
        pre->type == SCHED_PREEMPT_QOS ? qos_of(s, k)->mode : s->parts[k->part]->preempt_mode;

    return own != SCHED_MODE_DEFAULT ? own : pre->mode;
}

/* Is k safe for the time being?  Notes when it will not be. */
static bool exempt(struct search *x, const struct job *k)
{
    const struct sched_preempt *pre = &x->s->params.preempt;
    const struct qos_preempt *q = qos_of(x->s, k);
    bool own = pre->type == SCHED_PREEMPT_QOS && q->has_exempt;
    int64_t until_us = k->start_us + (int64_t)(own ? q->exempt_s : pre->exempt_s) * 1000000;

    if (pre->has_min_exempt_priority && k->run_priority >= pre->min_exempt_priority)
        return true;
    if (x->now_us >= until_us)
        return false;
    x->retry_us = MIN(x->retry_us, until_us);
    return true;
}

/* Does k hold something the job could use: a node of its partition, or a licence it asks for? */
static bool touches(const struct search *x, const struct job *k)
{
    const struct job_lics *want = &x->e->job->want;

    for (size_t i = 0; i < k->alloc.nnodes; i++)
        if (bitmap_test(x->p.part->nodes, k->alloc.nodes[i].node_id))
            return true;
    for (uint32_t a = 0; x->s->params.preempt.reclaim_licenses && a < k->held.n; a++)
        for (uint32_t b = 0; b < want->n; b++)
            if (k->held.v[a].id == want->v[b].id)
                return true;
    return false;
}

static int gather_going(struct search *x)
{
    struct sched *s = x->s;

    going_settle(s);
    x->going = malloc((s->ngoing + 1) * sizeof(struct job *));
    if (!x->going)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->ngoing; i++) {
        struct job *k = job_find(s, s->going[i]);

        if (touches(x, k))
            x->going[x->ngoing++] = k;
    }
    return 0;
}

/* May some job of this partition and QOS have to go? */
static bool group_may(const struct search *x, const struct holders *h)
{
    const struct sched_preempt *pre = &x->s->params.preempt;
    const struct job *k = h->n ? h->v[0] : NULL;

    if (!k || mode_of(x->s, k) == SCHED_MODE_OFF)
        return false;
    if (pre->type == SCHED_PREEMPT_QOS && k->qos == x->e->job->qos)
        return k->qos != STRTAB_NONE && (pre->within || qos_of(x->s, k)->within);
    return by_priority(x) || outranks(x, k);
}

static void gather_group(struct search *x, const struct holders *h)
{
    struct sched *s = x->s;

    for (uint32_t i = 0; i < h->n; i++) {
        struct job *k = h->v[i];
        struct cand *c = &x->v[x->n];

        if (goes_anyway(k) || k->state == JOB_SUSPENDED || k->waits || !touches(x, k) ||
            !may_preempt(x, k) || exempt(x, k))
            continue;
        *c = (struct cand){ .j = k, .mode = k->yielded ? SCHED_MODE_SUSPEND : mode_of(s, k) };
        c->tier = s->parts[k->part]->tier;
        c->qos_priority = k->qos < s->nqos ? s->qos_priority[k->qos] : 0;
        for (size_t a = 0; a < k->alloc.nnodes; a++)
            c->size += k->alloc.nodes[a].cpus;
        x->n++;
    }
}

/* Whoever goes anyway, and whom the job may make go: the cost is by these, not by all jobs. */
static int gather(struct search *x)
{
    struct sched *s = x->s;
    uint32_t most = 0;
    int r = gather_going(x);

    for (uint32_t p = 0; p < s->nparts; p++)
        for (uint32_t q = 0; q < s->parts[p]->nholders; q++)
            if (group_may(x, &s->parts[p]->holders[q]))
                most += s->parts[p]->holders[q].n;
    x->v = malloc((most + 1) * sizeof(*x->v));
    if (r < 0 || !x->v)
        return -ENOMEM;
    for (uint32_t p = 0; p < s->nparts; p++)
        for (uint32_t q = 0; q < s->parts[p]->nholders; q++)
            if (group_may(x, &s->parts[p]->holders[q]))
                gather_group(x, &s->parts[p]->holders[q]);
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int level(const struct cand *a, const struct cand *b)
{
    if (a->j->yielded != b->j->yielded)
        return a->j->yielded ? -1 : 1; /* it is suspended already */
    if (a->qos_priority != b->qos_priority)
        return a->qos_priority < b->qos_priority ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    return 0;
}

static int younger(const struct cand *a, const struct cand *b)
{
    if (a->j->start_us != b->j->start_us)
        return a->j->start_us > b->j->start_us ? -1 : 1;
    return (a->j->id < b->j->id) - (a->j->id > b->j->id);
}

static int by_size(const void *pa, const void *pb)
{
    const struct cand *a = pa, *b = pb;
    int d = level(a, b);

    if (d == 0 && a->size != b->size)
        d = a->size < b->size ? -1 : 1;
    return d ? d : younger(a, b);
}

static int by_size_down(const void *pa, const void *pb)
{
    const struct cand *a = pa, *b = pb;
    int d = level(a, b);

    if (d == 0 && a->size != b->size)
        d = a->size > b->size ? -1 : 1;
    return d ? d : younger(a, b);
}

static int by_age(const void *pa, const void *pb)
{
    int d = level(pa, pb);

    return d ? d : younger(pa, pb);
}

/* ---- trying ---------------------------------------------------------------------------------- */

static void put(struct search *x, struct cand *c, bool out)
{
    struct job *k = c->j;

    if (c->out == out)
        return;
    c->out = out;
    if (c->mode != SCHED_MODE_SUSPEND) {
        if (out)
            job_release(x->s, k);
        else
            job_take(x->s, k);
        return;
    }
    for (size_t i = 0; i < k->alloc.nnodes; i++) {
        if (out)
            node_release(x->s, &k->alloc.nodes[i], k->part, k->firm, true, false);
        else
            node_take(x->s, &k->alloc.nodes[i], k->part, k->firm, true, false);
    }
}

static void put_first(struct search *x, uint32_t n)
{
    for (; x->at < n; x->at++)
        put(x, &x->v[x->at], true);
    while (x->at > n)
        put(x, &x->v[--x->at], false);
}

static int fits(struct search *x)
{
    uint32_t which;

    return lics_fit(x->s, &x->e->job->want, 0, &which) ? pick_nodes(&x->p) : 0;
}

static int fits_without(void *ctx, uint32_t n, uint32_t *lo, uint32_t *hi)
{
    (void)lo; /* every candidate counts */
    (void)hi;
    put_first(ctx, n);
    return fits(ctx);
}

/* The shortest row of candidates whose going is enough; 0 in *ret_n: all of them are not. */
static int shortest(struct search *x, uint32_t *ret_n)
{
    int r = gallop(x->n, fits_without, x, ret_n);

    if (r == 0)
        put_first(x, *ret_n);
    return r;
}

static int lay_out(struct search *x, struct sched_alloc *ret)
{
    uint32_t which;

    return lics_fit(x->s, &x->e->job->want, 0, &which) ? pick_layout(&x->p, ret) : 0;
}

/* Of the n released, take back whom the job can do without, the dearest first. */
static int take_back(struct search *x, uint32_t n)
{
    _cleanup_val_(alloc_done) struct sched_alloc first = { 0 };
    int r = lay_out(x, &first);

    for (uint32_t i = n; r == 1 && i-- > 0;) {
        put(x, &x->v[i], false);
        r = fits(x);
        if (r == 0) {
            put(x, &x->v[i], true);
            r = 1;
        }
    }
    return r;
}

/* Those on none of the nodes the job would get now go back at once: there may be very many. */
static int take_back_elsewhere(struct search *x, uint32_t n)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    int r = fits(x);

    if (r != 1)
        return r;
    r = bitmap_new(x->s->nbits, &kept);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < x->s->chosen.n; i++)
        bitmap_set(kept, x->s->chosen.v[i].id);
    for (uint32_t i = 0; i < n; i++) {
        struct cand *c = &x->v[i];
        bool on = c->j->held.n && x->s->params.preempt.reclaim_licenses;

        for (size_t a = 0; !on && a < c->j->alloc.nnodes; a++)
            on = bitmap_test(kept, c->j->alloc.nodes[a].node_id);
        if (!on)
            put(x, c, false);
    }
    r = fits(x);
    if (r == 0) { /* selection went elsewhere: all over again, the slow way */
        for (uint32_t i = 0; i < n; i++)
            put(x, &x->v[i], true);
        r = 1;
    }
    return r;
}

static int take_victims(struct search *x, uint32_t n, struct choice *ret)
{
    ret->victims = calloc(n + 1, sizeof(*ret->victims));
    if (!ret->victims)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        const struct cand *c = &x->v[i];

        if (!c->out)
            continue;
        ret->victims[ret->n++] = (struct sched_victim){ .job_id = c->j->id, .mode = c->mode };
        if (c->j->yielded)
            continue;
        ret->harm.n++;
        ret->harm.qos_priority = MAX(ret->harm.qos_priority, c->qos_priority);
        ret->harm.tier = MAX(ret->harm.tier, c->tier);
        ret->harm.work += (double)c->size * (double)(x->now_us - c->j->start_us);
    }
    return 1;
}

/* A set without a superfluous member, in the order the candidates are in.  1, 0: there is none. */
static int choose(struct search *x, struct choice *ret)
{
    uint32_t n = 0;
    int r = shortest(x, &n);

    if (r == 0 && n) {
        r = take_back_elsewhere(x, n);
        if (r == 1)
            r = take_back(x, n);
        if (r == 1)
            r = lay_out(x, &ret->alloc);
        if (r == 1)
            r = take_victims(x, n, ret);
    }
    for (uint32_t i = 0; i < x->n; i++)
        put(x, &x->v[i], false);
    x->at = 0;
    if (r <= 0)
        choice_done(ret);
    return r;
}

static bool less_harm(const struct harm *a, const struct harm *b)
{
    if (a->qos_priority != b->qos_priority)
        return a->qos_priority < b->qos_priority;
    if (a->tier != b->tier)
        return a->tier < b->tier;
    if (a->n != b->n)
        return a->n < b->n;
    return a->work < b->work;
}

/* With everybody who goes anyway gone. */
static int search(struct search *x, struct choice *ret)
{
    const struct sched_preempt *pre = &x->s->params.preempt;
    struct choice other = { 0 };
    int r = fits(x);

    if (r != 0)
        return r < 0 ? r : 0; /* nobody has to go who does not already */
    qsort(x->v, x->n, sizeof(*x->v), pre->youngest_first ? by_age : by_size);
    r = choose(x, ret);
    if (r != 1 || pre->strict_order || !pre->reorder_count || ret->n < 2)
        return r;
    qsort(x->v, x->n, sizeof(*x->v), by_size_down);
    r = choose(x, &other);
    if (r == 1 && less_harm(&other.harm, &ret->harm)) {
        choice_done(ret);
        *ret = other;
        return 1;
    }
    choice_done(&other);
    return r < 0 ? r : 1;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static bool shares_node(const struct job *k, const struct sched_alloc *a)
{
    size_t i = 0;

    for (size_t n = 0; n < k->alloc.nnodes; n++) {
        while (i < a->nnodes && a->nodes[i].node_id < k->alloc.nodes[n].node_id)
            i++;
        if (i < a->nnodes && a->nodes[i].node_id == k->alloc.nodes[n].node_id)
            return true;
    }
    return false;
}

/* Everybody on its nodes who goes, and whoever holds its licences until then. */
static int claim_waits(struct search *x, const struct choice *c)
{
    struct job *j = x->e->job;

    j->waits = calloc(1, sizeof(*j->waits) + (x->ngoing + c->n) * sizeof(j->waits->v[0]));
    if (!j->waits)
        return -ENOMEM;
    for (uint32_t i = 0; i < x->ngoing; i++)
        if (x->going[i]->held.n || shares_node(x->going[i], &c->alloc))
            j->waits->v[j->waits->n++] =
                (struct claim_wait){ x->going[i]->id, x->going[i]->start_us };
    for (uint32_t i = 0; i < c->n; i++) {
        struct job *k = job_find(x->s, c->victims[i].job_id);

        j->waits->v[j->waits->n++] = (struct claim_wait){ k->id, k->start_us };
        k->claimed_by = j->id;
        going_note(x->s, k);
    }
    return 0;
}

static int claims_room(struct sched *s)
{
    uint32_t cap = s->cap_claims ? s->cap_claims * 2 : 8, *grown;

    if (s->nclaims < s->cap_claims)
        return 0;
    grown = realloc(s->claims, cap * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    s->claims = grown;
    s->cap_claims = cap;
    return 0;
}

static int claim_tell(struct search *x, struct choice *c, struct sched_decisions *out)
{
    struct sched *s = x->s;
    struct sched_decision d = { .kind = SCHED_PREEMPT,
                                .job_id = x->e->job->id,
                                .partition = s->parts_tab.names[x->e->part],
                                .priority = x->e->priority,
                                .nvictims = c->n,
                                .candidates = x->n };
    int r = alloc_dup(s, &c->alloc, &d.alloc);

    if (r < 0)
        return r;
    d.victims = c->victims;
    r = decisions_add(out, &d);
    if (r < 0)
        alloc_done(&d.alloc);
    else
        c->victims = NULL; /* handed over */
    return r;
}

/* e holds its layout from now on and tells whom it waits for. */
static int claim(struct search *x, struct choice *c, struct job_lics *held,
                 struct sched_decisions *out)
{
    struct sched *s = x->s;
    struct job *j = x->e->job;
    int r = claims_room(s);

    if (r == 0)
        r = holders_room(s, x->e->part, j->qos);
    if (r == 0)
        r = claim_waits(x, c);
    if (r == 0)
        r = claim_tell(x, c, out);
    if (r < 0) {
        claim_drop(s, j);
        return r;
    }
    planlog_other(s);
    plan_note_leave(s, j);
    job_unqueue(s, j);
    j->state = JOB_PROPOSED;
    j->held = *held;
    *held = (struct job_lics){ 0 };
    j->alloc = c->alloc;
    c->alloc = (struct sched_alloc){ 0 };
    j->part = x->e->part;
    j->run_priority = x->e->priority;
    j->firm = x->p.share_max == 1;
    j->start_us = x->now_us;
    j->end_us = end_after(x->now_us, j->time_limit_min);
    j->told = SCHED_WHY_NONE;
    expect_drop(j);
    holders_add(s, j);
    job_take(s, j);
    (void)limit_charge(s, j); /* out of memory: it counts from the core's next word on */
    s->claims[s->nclaims++] = j->id;
    s->npending--;
    s->change++;
    return 1;
}

void claim_drop(struct sched *s, struct job *j)
{
    for (uint32_t i = 0; j->waits && i < j->waits->n; i++) {
        struct job *k = job_find(s, j->waits->v[i].id);

        if (k && k->claimed_by == j->id)
            k->claimed_by = 0;
    }
    free(j->waits);
    j->waits = NULL;
}

static bool gone(const struct sched *s, const struct claim_wait *w)
{
    const struct job *k = job_find(s, w->id);

    return !k || k->state < JOB_PROPOSED || k->yielded || k->start_us != w->start_us;
}

static bool nodes_up(const struct sched *s, const struct sched_alloc *a)
{
    for (size_t i = 0; i < a->nnodes; i++)
        if (!bitmap_test(s->up, a->nodes[i].node_id))
            return false;
    return true;
}

static int claim_start(struct sched *s, struct job *j, int64_t now_us, struct sched_decisions *out)
{
    struct sched_decision d = { .kind = SCHED_START,
                                .job_id = j->id,
                                .partition = s->parts_tab.names[j->part],
                                .priority = j->run_priority };
    int r = lics_tell(s, &j->held, &d.licenses, &d.nlicenses);

    if (r == 0)
        r = alloc_dup(s, &j->alloc, &d.alloc);
    if (r == 0)
        r = decisions_add(out, &d);
    if (r < 0) {
        alloc_done(&d.alloc);
        free(d.licenses);
        return r;
    }
    claim_drop(s, j);
    planlog_other(s);
    j->start_us = now_us;
    j->end_us = end_after(now_us, j->time_limit_min);
    limit_end_time(j);
    s->change++;
    out->started++;
    return 0;
}

int claims_settle(struct sched *s, int64_t now_us, struct sched_decisions *out)
{
    uint32_t left = 0;
    int r = 0;

    for (uint32_t i = 0; i < s->nclaims; i++) {
        struct job *j = job_find(s, s->claims[i]);
        bool all = true;

        if (!j || j->state != JOB_PROPOSED || !j->waits)
            continue; /* refused, or gone itself */
        for (uint32_t k = 0; all && k < j->waits->n; k++)
            all = gone(s, &j->waits->v[k]);
        if (r == 0 && !nodes_up(s, &j->alloc))
            sched_job_refused(s, j->id); /* in the queue again: maybe elsewhere */
        else if (r == 0 && all)
            r = claim_start(s, j, now_us, out);
        if (j->waits)
            s->claims[left++] = j->id;
    }
    s->nclaims = left;
    queue_enter(s, now_us);
    return r;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

/* What was found out holds for a class until one of these changes; not where the job itself
 * counts. */
static uint64_t preempt_gen(const struct sched *s)
{
    return s->run_gen + s->up_gen + s->config_gen;
}

static bool class_decides(const struct sched *s, const struct job *j)
{
    return s->params.preempt.type == SCHED_PREEMPT_PART && !s->params.preempt.by_priority &&
           !j->want.n;
}

/* Search with everything moved about, and put it all back. */
static int search_moved(struct search *x, struct choice *c, struct job_lics *held)
{
    struct sched *s = x->s;
    uint32_t which = 0;
    int r;

    s->travelling = true;
    for (uint32_t i = 0; i < x->ngoing; i++)
        job_release(s, x->going[i]);
    r = search(x, c);
    if (r == 1) {
        (void)lics_fit(s, &x->e->job->want, 0, &which); /* it is `all`, or one that is there */
        r = lics_choose(&x->e->job->want, which, held);
        r = r < 0 ? r : 1;
    }
    for (uint32_t i = 0; i < x->ngoing; i++)
        job_take(s, x->going[i]);
    s->travelling = false;
    return r;
}

static int try_claim(struct sched *s, struct entry *e, const struct bitmap *minus, int64_t now_us,
                     struct sched_decisions *out)
{
    const struct sched_preempt *pre = &s->params.preempt;
    struct class *cls = e->cls;
    _cleanup_val_(
        search_done) struct search x = { .s = s, .e = e, .now_us = now_us, .retry_us = INT64_MAX };
    _cleanup_val_(choice_done) struct choice c = { 0 };
    _cleanup_val_(lics_free) struct job_lics held = { 0 };
    uint32_t which;
    int r;

    if (pre->type == SCHED_PREEMPT_NONE || e->job->het)
        return 0;
    if (!lics_fit(s, &e->job->want, 0, &which) && (!pre->reclaim_licenses || e->job->want.any))
        return 0;
    if (cls->pre_gen == preempt_gen(s) + 1 && now_us < cls->pre_retry_us &&
        class_decides(s, e->job)) {
        s->preempt_wake_us = MIN(s->preempt_wake_us, cls->pre_retry_us);
        return 0;
    }
    x.p = (struct pick){ .s = s, .cls = cls, .part = s->parts[e->part], .minus = minus };
    adv_span(&x.p, now_us, e->job->time_limit_min);
    r = gather(&x);
    if (r == 0 && x.n)
        r = search_moved(&x, &c, &held);
    if (r == 1)
        return claim(&x, &c, &held, out);
    s->preempt_wake_us = MIN(s->preempt_wake_us, x.retry_us);
    cls->pre_gen = minus ? 0 : preempt_gen(s) + 1;
    cls->pre_retry_us = x.retry_us;
    return r;
}

int preempt_try(struct sched *s, struct entry *e, const struct bitmap *minus, int64_t now_us,
                struct sched_decisions *out)
{
    return s->bf.active ? 0 : try_claim(s, e, minus, now_us, out);
}

/* Nodes somebody has a place on before e would end are not for it. */
int preempt_beside_plan(struct sched *s, struct entry *e, int64_t now_us,
                        struct sched_decisions *out)
{
    _cleanup_(bitmap_free) struct bitmap *kept = NULL;
    struct part *part = s->parts[e->part];
    uint32_t until = prof_until(s, prof_now(s), e->job->time_limit_min), left = 0;
    struct class *cls = e->cls;
    int64_t start_us;
    int r;

    if (s->params.preempt.type == SCHED_PREEMPT_NONE || e->job->het || e->job->want.n ||
        s->bf.preempts >= BF_PREEMPTS_MAX ||
        (cls->pre_bf_run == s->bf_run && class_decides(s, e->job)))
        return 0;
    s->bf.preempts++;
    cls->pre_bf_run = s->bf_run;
    r = bitmap_new(s->nbits, &kept);
    if (r < 0)
        return r;
    BITMAP_FOREACH (part->nodes, id) {
        if (prof_keeper(s, id, until, &start_us))
            bitmap_set(kept, id);
        else
            left++;
    }
    if (!left)
        return 0;
    r = try_claim(s, e, kept, now_us, out);
    if (r == 1) {
        struct job *j = e->job;

        r = prof_hold(s, &j->alloc, &j->held, j, j->part, j->firm, prof_now(s), until);
        r = r < 0 ? r : 1;
    }
    return r;
}

/* ---- explained ------------------------------------------------------------------------------- */

static void classify(struct search *x, const struct job *k, struct explain_preempt *ret)
{
    const struct sched_preempt *pre = &x->s->params.preempt;

    ret->jobs++;
    if (goes_anyway(k))
        ret->going++;
    else if (!may_preempt(x, k))
        ret->equal++;
    else if (mode_of(x->s, k) == SCHED_MODE_OFF)
        ret->off++;
    else if (k->state == JOB_SUSPENDED || k->waits)
        ret->busy++;
    else if (pre->has_min_exempt_priority && k->run_priority >= pre->min_exempt_priority)
        ret->safe++;
    else if (exempt(x, k))
        ret->safe++;
    else
        ret->candidates++;
}

static void tell_victims(const struct sched_victim *v, uint32_t n, struct explain_preempt *ret)
{
    for (uint32_t i = 0; i < n && i < EXPLAIN_VICTIMS; i++)
        ret->victims[i] = v[i];
    ret->nvictims = n;
}

/* Whom the job waits for after its choice.  False: it has chosen nobody. */
static bool tell_claim(struct sched *s, uint32_t id, struct explain_preempt *ret)
{
    const struct job *j = job_find(s, id);

    for (uint32_t i = 0; j && j->waits && i < j->waits->n; i++) {
        const struct job *k = job_find(s, j->waits->v[i].id);

        if (ret->nvictims < EXPLAIN_VICTIMS)
            ret->victims[ret->nvictims] =
                (struct sched_victim){ .job_id = j->waits->v[i].id,
                                       .mode = k && k->state >= JOB_PROPOSED ? mode_of(s, k)
                                                                             : SCHED_MODE_DEFAULT };
        ret->nvictims++;
    }
    return j && j->waits;
}

int preempt_explain(struct sched *s, struct entry *e, int64_t now_us, struct explain_preempt *ret)
{
    _cleanup_val_(
        search_done) struct search x = { .s = s, .e = e, .now_us = now_us, .retry_us = INT64_MAX };
    _cleanup_val_(choice_done) struct choice c = { 0 };
    _cleanup_val_(lics_free) struct job_lics held = { 0 };
    struct holders_iter it = { 0 };
    int r;

    *ret = (struct explain_preempt){ .asked = s->params.preempt.type != SCHED_PREEMPT_NONE,
                                     .safe_until_us = INT64_MAX };
    if (!ret->asked || e->job->het)
        return 0;
    ret->waiting = tell_claim(s, e->job->id, ret);
    x.p = (struct pick){ .s = s, .cls = e->cls, .part = s->parts[e->part] };
    for (const struct job *k; (k = holders_next(s, &it));)
        if (k->id != e->job->id && touches(&x, k))
            classify(&x, k, ret);
    ret->safe_until_us = x.retry_us;
    if (ret->waiting || !ret->candidates)
        return 0;
    r = gather(&x);
    if (r == 0 && x.n)
        r = search_moved(&x, &c, &held);
    if (r == 1)
        tell_victims(c.victims, c.n, ret);
    return r < 0 ? r : 0;
}

/* ---- feed ------------------------------------------------------------------------------------ */

static int qos_row(struct sched *s, const char *name, struct qos_preempt **ret)
{
    struct qos_preempt *grown;
    uint32_t id;
    int r = strtab_intern(&s->qos_tab, name, &id);

    if (r < 0 || id >= SCHED_MAX_QOS)
        return r < 0 ? r : -E2BIG;
    if (id >= s->nqos_pre) {
        grown = realloc(s->qos_pre, (id + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->qos_pre = grown;
        while (s->nqos_pre <= id)
            grown[s->nqos_pre++] = (struct qos_preempt){ 0 };
    }
    *ret = &s->qos_pre[id];
    return 0;
}

int sched_qos_preempt_put(struct sched *s, const char *name, const struct sched_qos_preempt *q)
{
    _cleanup_free_ uint32_t *may = calloc(q->nmay + 1, sizeof(*may));
    struct qos_preempt *row;
    int r = may ? qos_row(s, name, &row) : -ENOMEM;

    for (size_t i = 0; r == 0 && i < q->nmay; i++)
        r = strtab_intern(&s->qos_tab, q->may[i], &may[i]);
    if (r < 0)
        return r;
    free(row->may);
    *row = (struct qos_preempt){ .may = TAKE_PTR(may),
                                 .nmay = (uint32_t)q->nmay,
                                 .mode = q->mode,
                                 .within = q->within,
                                 .by_priority = q->by_priority,
                                 .has_exempt = q->has_exempt,
                                 .exempt_s = q->exempt_s };
    s->run_gen++;
    s->change++;
    return 0;
}

int sched_job_rank(struct sched *s, uint32_t id, uint32_t priority, const char *qos)
{
    struct job *j = job_find(s, id);
    uint32_t qos_id = STRTAB_NONE;
    int r = qos ? strtab_intern(&s->qos_tab, qos, &qos_id) : 0;

    if (r == 0 && j && j->state >= JOB_PROPOSED)
        r = holders_room(s, j->part, qos_id);
    if (r < 0 || !j || j->state < JOB_PROPOSED)
        return r;
    holders_remove(s, j);
    j->run_priority = priority;
    j->qos = qos_id;
    holders_add(s, j);
    s->run_gen++;
    return 0;
}

void sched_job_leaving(struct sched *s, uint32_t id)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED)
        return;
    j->leaving = true;
    going_note(s, j);
    s->run_gen++;
}

void sched_job_yield(struct sched *s, uint32_t id, bool yielded)
{
    struct job *j = job_find(s, id);

    if (!j || (j->state != JOB_PROPOSED && j->state != JOB_RUNNING))
        return;
    j->yielded = yielded;
    planlog_other(s);
    if (!yielded)
        j->claimed_by = 0;
    s->run_gen++;
    s->change++;
}

void preempt_done(struct sched *s)
{
    for (uint32_t i = 0; i < s->nqos_pre; i++)
        free(s->qos_pre[i].may);
    free(s->qos_pre);
    free(s->claims);
    free(s->going);
}
