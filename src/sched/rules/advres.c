/* advres.c - advance reservations: who may have which nodes when.
 *
 * A reservation is a set of nodes (or cores of some) and windows of time.  A job outside may not
 * hold any of it in a window; one inside holds nothing else, and only in a window, unless the
 * reservation is flexible. Selection asks with the span of time a job would hold its nodes
 * (pick.from_us, pick.to_us); without a span reservations are not heeded.
 *
 * What is known about a class stands for longer spans too: a longer one meets more windows.  A
 * count of windows met (the level) is kept with it.  When a window begins or ends, or reservations
 * change, everything is tried anew. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/plan/profile.h"
#include "sched/sched_int.h"

struct advcpus {
    uint32_t node_id, nwords;
    uint64_t *bits;
};

struct advres {
    uint32_t id;
    uint32_t *ids, nids;
    struct bitmap *nodes; /* of ids; made when it is asked for */
    struct advcpus *cpus; /* by node id; NULL = whole nodes */
    uint32_t ncpus;
    struct sched_resv_window *windows;
    uint32_t nwindows;
    bool floats, flex, beside, maint;
    int64_t float_us, max_delay_us;
    struct job_lics lics, used; /* reserved, and held by its jobs (same order) */
    uint64_t blocked_walk;      /* walk in which a job of it waits for nodes */
};

struct advwin {
    int64_t start_us, end_us;
    struct advres *r;
};

struct advs {
    struct advres **list; /* by id */
    uint32_t n;
    struct advwin *wins; /* that have not ended, by start */
    uint32_t nwins;
    int64_t next_us; /* the next beginning or end */
    bool dirty;
    uint64_t gen;
    uint32_t nfloat;
    struct bitmap *cored;      /* nodes of which cores are reserved */
    uint64_t *words;           /* scratch: one node's CPUs */
    const struct entry *about; /* whose licences are asked for */
    int64_t about_us;
};

/* ---- the set of them ------------------------------------------------------------------------- */

static void res_free(struct advres *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->ncpus; i++)
        free(r->cpus[i].bits);
    free(r->cpus);
    free(r->ids);
    free(r->windows);
    bitmap_free(r->nodes);
    lics_free(&r->lics);
    lics_free(&r->used);
    free(r);
}

void advs_done(struct sched *s)
{
    if (!s->advs)
        return;
    for (uint32_t i = 0; i < s->advs->n; i++)
        res_free(s->advs->list[i]);
    free(s->advs->list);
    free(s->advs->wins);
    free(s->advs->words);
    bitmap_free(s->advs->cored);
    free(s->advs);
    s->advs = NULL;
}

static uint32_t place_of(const struct advs *a, uint32_t id)
{
    uint32_t lo = 0, hi = a->n;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (a->list[mid]->id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct advres *find(const struct sched *s, uint32_t id)
{
    uint32_t at = s->advs && id ? place_of(s->advs, id) : 0;

    return s->advs && id && at < s->advs->n && s->advs->list[at]->id == id ? s->advs->list[at]
                                                                           : NULL;
}

static int advs_make(struct sched *s)
{
    if (s->advs)
        return 0;
    s->advs = calloc(1, sizeof(*s->advs));
    if (!s->advs)
        return -ENOMEM;
    s->advs->words = calloc(SCHED_MAX_CPUS / 64, sizeof(*s->advs->words));
    if (!s->advs->words || bitmap_new(s->nbits, &s->advs->cored) < 0) {
        advs_done(s);
        return -ENOMEM;
    }
    return 0;
}

/* What was known may not hold any more. */
static void stir(struct sched *s)
{
    s->advs->gen++;
    planlog_other(s);
    s->lic_grow++;
    s->run_gen++;
    s->change++;
    for (uint32_t i = 0; i < s->nparts; i++)
        s->parts[i]->grow++;
}

static int copy_cpus(const struct sched_resv *in, struct advres *r)
{
    if (!in->ncpus)
        return 0;
    r->cpus = calloc(in->ncpus, sizeof(*r->cpus));
    if (!r->cpus)
        return -ENOMEM;
    for (size_t i = 0; i < in->ncpus; i++) {
        struct advcpus *c = &r->cpus[i];

        *c = (struct advcpus){ .node_id = in->cpus[i].node_id, .nwords = in->cpus[i].nwords };
        c->bits = malloc((c->nwords + 1) * sizeof(*c->bits));
        if (!c->bits)
            return -ENOMEM;
        memcpy(c->bits, in->cpus[i].bits, c->nwords * sizeof(*c->bits));
        r->ncpus++;
    }
    return 0;
}

static int build(struct sched *s, const struct sched_resv *in, struct advres **ret)
{
    struct advres *r = calloc(1, sizeof(*r));
    int code = r ? copy_cpus(in, r) : -ENOMEM;

    if (code == 0) {
        r->id = in->id;
        r->ids = malloc((in->nnodes + 1) * sizeof(*r->ids));
        r->windows = malloc((in->nwindows + 1) * sizeof(*r->windows));
        if (!r->ids || !r->windows)
            code = -ENOMEM;
    }
    if (code == 0)
        code = lics_build(s, in->licenses, in->nlicenses, false, &r->lics);
    if (code == 0)
        code = lics_build(s, in->licenses, in->nlicenses, false, &r->used);
    if (code < 0) {
        res_free(r);
        return code;
    }
    for (uint32_t i = 0; i < r->used.n; i++)
        r->used.v[i].count = 0;
    for (size_t i = 0; i < in->nnodes; i++)
        r->ids[r->nids++] = in->node_ids[i];
    for (size_t i = 0; i < in->nwindows; i++)
        r->windows[r->nwindows++] = in->windows[i];
    r->floats = in->floats;
    r->float_us = in->float_us;
    r->flex = in->flex;
    r->beside = in->beside;
    r->maint = in->maint;
    r->max_delay_us = in->max_delay_us;
    *ret = r;
    return 0;
}

/* What its jobs hold of its licences. */
static void count_used(struct sched *s, struct advres *r)
{
    for (uint32_t i = 0; r->lics.n && i < s->job_slots; i++) {
        const struct job *j = s->jobs[i];

        for (uint32_t k = 0; j && j->state >= JOB_PROPOSED && j->resv == r->id && k < j->held.n;
             k++)
            for (uint32_t l = 0; l < r->used.n; l++)
                if (r->used.v[l].id == j->held.v[k].id)
                    r->used.v[l].count += j->held.v[k].count;
    }
}

int sched_resv_put(struct sched *s, const struct sched_resv *in)
{
    struct advres *r = NULL, **grown;
    int code = in->id ? advs_make(s) : -EINVAL;
    uint32_t at;

    if (code == 0)
        code = build(s, in, &r);
    if (code < 0)
        return code;
    at = place_of(s->advs, in->id);
    if (at < s->advs->n && s->advs->list[at]->id == in->id) {
        res_free(s->advs->list[at]);
    } else {
        grown = realloc(s->advs->list, (s->advs->n + 1) * sizeof(struct advres *));
        if (!grown) {
            res_free(r);
            return -ENOMEM;
        }
        s->advs->list = grown;
        memmove(grown + at + 1, grown + at, (s->advs->n - at) * sizeof(struct advres *));
        s->advs->n++;
    }
    s->advs->list[at] = r;
    s->advs->nwins = 0; /* they point to what may be gone */
    s->advs->dirty = true;
    count_used(s, r);
    stir(s);
    return 0;
}

void sched_resv_remove(struct sched *s, uint32_t id)
{
    uint32_t at = s->advs ? place_of(s->advs, id) : 0;

    if (!s->advs || at >= s->advs->n || s->advs->list[at]->id != id)
        return;
    res_free(s->advs->list[at]);
    memmove(s->advs->list + at, s->advs->list + at + 1,
            (--s->advs->n - at) * sizeof(struct advres *));
    s->advs->nwins = 0;
    s->advs->dirty = true;
    stir(s);
}

/* ---- time ------------------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
    const struct advwin *x = a, *y = b;

    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->r->id > y->r->id) - (x->r->id < y->r->id);
}

static int make_windows(struct sched *s, int64_t now_us)
{
    struct advs *a = s->advs;
    struct advwin *wins;
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->n; i++)
        n += a->list[i]->nwindows;
    wins = realloc(a->wins, (n + 1) * sizeof(*wins));
    if (!wins)
        return -ENOMEM;
    a->wins = wins;
    a->nwins = a->nfloat = 0;
    a->next_us = INT64_MAX;
    bitmap_zero(a->cored);
    for (uint32_t i = 0; i < a->n; i++) {
        struct advres *r = a->list[i];

        a->nfloat += r->floats;
        for (uint32_t k = 0; k < r->ncpus; k++)
            if (r->cpus[k].node_id < a->cored->nbits)
                bitmap_set(a->cored, r->cpus[k].node_id);
        for (uint32_t k = 0; k < r->nwindows && !r->floats; k++) {
            if (r->windows[k].end_us <= now_us)
                continue;
            wins[a->nwins++] = (struct advwin){ r->windows[k].start_us, r->windows[k].end_us, r };
            a->next_us = MIN(a->next_us, r->windows[k].start_us > now_us ? r->windows[k].start_us
                                                                         : r->windows[k].end_us);
        }
    }
    if (a->nwins > 1)
        qsort(wins, a->nwins, sizeof(*wins), by_start);
    a->dirty = false;
    return 0;
}

int advs_refresh(struct sched *s, int64_t now_us)
{
    struct advs *a = s->advs;
    bool passed;

    if (!a)
        return 0;
    if (a->cored->nbits != s->nbits) {
        int r = bitmap_resize(&a->cored, s->nbits);

        if (r < 0)
            return r;
        a->dirty = true;
    }
    passed = now_us >= a->next_us;
    if (!a->dirty && !passed)
        return 0;
    if (passed && !a->dirty)
        stir(s);
    return make_windows(s, now_us);
}

int64_t advs_wake(const struct sched *s)
{
    return s->advs && s->npending ? s->advs->next_us : INT64_MAX;
}

bool advs_any(const struct sched *s)
{
    return s->advs && s->advs->n;
}

void advs_each_edge(struct sched *s, void (*fn)(struct sched *s, int64_t at_us))
{
    for (uint32_t i = 0; s->advs && i < s->advs->nwins; i++) {
        fn(s, s->advs->wins[i].start_us);
        fn(s, s->advs->wins[i].end_us);
    }
}

int64_t adv_edge(const struct sched *s, int64_t after_us)
{
    int64_t edge = INT64_MAX;

    for (uint32_t i = 0; s->advs && i < s->advs->nwins; i++) {
        const struct advwin *w = &s->advs->wins[i];

        if (w->start_us > after_us)
            edge = MIN(edge, w->start_us);
        if (w->end_us > after_us)
            edge = MIN(edge, w->end_us);
    }
    return edge;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const struct bitmap *nodes_of(const struct sched *s, struct advres *r)
{
    if (r->nodes && r->nodes->nbits == s->nbits)
        return r->nodes;
    bitmap_free(r->nodes);
    r->nodes = NULL;
    if (bitmap_new(s->nbits, &r->nodes) < 0)
        return NULL;
    for (uint32_t i = 0; i < r->nids; i++)
        if (r->ids[i] < s->nbits)
            bitmap_set(r->nodes, r->ids[i]);
    return r->nodes;
}

/* Does the span lie in one of its windows? */
static bool within(const struct advres *r, int64_t from_us, int64_t to_us)
{
    for (uint32_t i = 0; i < r->nwindows; i++)
        if (r->windows[i].start_us <= from_us && to_us <= r->windows[i].end_us)
            return true;
    return false;
}

/* MaxStartDelay: a job outside that is as short as that delays nobody inside for longer. */
static bool excused(const struct advres *r, int64_t from_us, int64_t to_us)
{
    return r->max_delay_us && to_us != INT64_MAX && to_us - from_us <= r->max_delay_us;
}

static bool floats_into(const struct advres *r, int64_t from_us, int64_t to_us)
{
    return r->floats && (to_us == INT64_MAX || to_us - from_us > r->float_us);
}

bool adv_keep(const struct pick *p, struct bitmap *mask)
{
    const struct sched *s = p->s;
    const struct advs *a = s->advs;
    struct advres *own = find(s, p->k->resv);
    const struct bitmap *nodes;

    if (p->k->resv && !own)
        return false;
    if (!p->to_us || !a)
        return true;
    if (own && !own->flex) {
        if (!within(own, p->from_us, p->to_us))
            return false;
        nodes = own->nids ? nodes_of(s, own) : NULL;
        if (nodes)
            bitmap_and(mask, nodes);
    }
    if (own && own->beside)
        return true;
    for (uint32_t i = 0; i < a->nwins && a->wins[i].start_us < p->to_us; i++) {
        const struct advwin *w = &a->wins[i];

        if (w->end_us <= p->from_us || w->r == own || w->r->ncpus || !w->r->nids ||
            (p->no_maint && w->r->maint) || excused(w->r, p->from_us, p->to_us))
            continue;
        nodes = nodes_of(s, w->r);
        if (!nodes)
            return false;
        bitmap_andnot(mask, nodes);
    }
    for (uint32_t i = 0; a->nfloat && i < a->n; i++) {
        struct advres *r = a->list[i];

        if (r == own || !floats_into(r, p->from_us, p->to_us) || (p->no_maint && r->maint))
            continue;
        nodes = nodes_of(s, r);
        if (!nodes)
            return false;
        bitmap_andnot(mask, nodes);
    }
    return true;
}

static const struct advcpus *cpus_on(const struct advres *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->ncpus; i++)
        if (r->cpus[i].node_id == id)
            return &r->cpus[i];
    return NULL;
}

bool adv_cored(const struct sched *s, uint32_t id)
{
    return s->advs && id < s->advs->cored->nbits && bitmap_test(s->advs->cored, id);
}

const uint64_t *adv_blocked(const struct pick *p, uint32_t id)
{
    const struct advs *a = p->s->advs;
    uint32_t nwords = p->s->nodes[id].nwords;
    const struct advres *own;
    const struct advcpus *c;
    bool any = false;

    if (!p->to_us || !adv_cored(p->s, id))
        return NULL;
    own = find(p->s, p->k->resv);
    memset(a->words, 0, nwords * sizeof(*a->words));
    for (uint32_t i = 0; !(own && own->beside) && i < a->nwins && a->wins[i].start_us < p->to_us;
         i++) {
        const struct advwin *w = &a->wins[i];

        if (w->end_us <= p->from_us || w->r == own || excused(w->r, p->from_us, p->to_us) ||
            !(c = cpus_on(w->r, id)))
            continue;
        for (uint32_t k = 0; k < MIN(c->nwords, nwords); k++)
            a->words[k] |= c->bits[k];
        any = true;
    }
    c = own && !own->flex ? cpus_on(own, id) : NULL;
    for (uint32_t k = 0; c && k < nwords; k++)
        a->words[k] |= k < c->nwords ? ~c->bits[k] : ~UINT64_C(0);
    return any || c ? a->words : NULL;
}

int64_t adv_limit(const struct sched *s, uint32_t resv, const struct sched_alloc *alloc,
                  int64_t from_us, int64_t to_us)
{
    const struct advs *a = s->advs;
    struct advres *own = find(s, resv);

    for (uint32_t i = 0; own && !own->flex && i < own->nwindows; i++)
        if (own->windows[i].start_us <= from_us && from_us < own->windows[i].end_us)
            to_us = MIN(to_us, own->windows[i].end_us);
    if (!a || (own && own->beside))
        return to_us;
    for (uint32_t i = 0; i < a->nwins && a->wins[i].start_us < to_us; i++) {
        const struct advwin *w = &a->wins[i];
        const struct bitmap *nodes =
            w->r == own || !w->r->nids || w->end_us <= from_us ? NULL : nodes_of(s, w->r);

        for (size_t k = 0; nodes && w->start_us > from_us && k < alloc->nnodes; k++)
            if (bitmap_test(nodes, alloc->nodes[k].node_id))
                to_us = MIN(to_us, w->start_us);
    }
    for (uint32_t i = 0; a->nfloat && i < a->n; i++) {
        const struct bitmap *nodes = a->list[i]->floats ? nodes_of(s, a->list[i]) : NULL;

        for (size_t k = 0; nodes && k < alloc->nnodes; k++)
            if (bitmap_test(nodes, alloc->nodes[k].node_id))
                to_us = MIN(to_us, from_us + a->list[i]->float_us);
    }
    return to_us;
}

void adv_span(struct pick *p, int64_t from_us, uint32_t minutes)
{
    if (!advs_any(p->s))
        return;
    p->from_us = from_us;
    p->to_us = end_after(from_us, minutes);
}

uint32_t adv_level(const struct pick *p)
{
    const struct advs *a = p->s->advs;
    uint32_t n = 0;

    if (!a || !p->to_us)
        return 0;
    for (uint32_t i = 0; i < a->nwins && a->wins[i].start_us < p->to_us; i++)
        n += !excused(a->wins[i].r, p->from_us, p->to_us);
    for (uint32_t i = 0; a->nfloat && i < a->n; i++)
        n += floats_into(a->list[i], p->from_us, p->to_us);
    return n;
}

/* ---- why not --------------------------------------------------------------------------------- */

/* Would it fit on the idle cluster, reservations heeded?  Remembered by level. */
static int fits_idle(struct pick *p)
{
    struct class *c = p->cls;
    uint64_t gen = p->s->advs->gen + p->s->up_gen + p->s->config_gen + 1;
    uint32_t level = adv_level(p);
    int r;

    if (c->adv_gen != gen) {
        c->adv_gen = gen;
        c->adv_fits = 0;
        c->adv_fails = UINT32_MAX;
    }
    if (!p->no_maint && level < c->adv_fits)
        return 1;
    if (!p->no_maint && level >= c->adv_fails)
        return 0;
    r = pick_nodes(p);
    if (!p->no_maint && r == 1)
        c->adv_fits = MAX(c->adv_fits, level + 1);
    if (!p->no_maint && r == 0)
        c->adv_fails = MIN(c->adv_fails, level);
    return r;
}

enum sched_why adv_why(struct sched *s, const struct entry *e, int64_t now_us)
{
    uint32_t resv = e->cls->shape->key.resv, minutes = e->job->time_limit_min;
    struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part], .idle = true };
    const struct advres *own = find(s, resv);

    if (!advs_any(s))
        return resv ? SCHED_WHY_RESV : SCHED_WHY_NONE;
    if (e->job->time_min_min)
        minutes = MIN(minutes, e->job->time_min_min);
    adv_span(&p, now_us, minutes);
    if (resv && (!own || (!own->flex && !within(own, p.from_us, p.to_us))))
        return SCHED_WHY_RESV;
    if (fits_idle(&p) != 0) /* out of memory: said again by whoever tries next */
        return SCHED_WHY_NONE;
    if (resv)
        return SCHED_WHY_RESV;
    p.no_maint = true;
    return fits_idle(&p) == 1 ? SCHED_WHY_RESV_MAINT : SCHED_WHY_RESERVED;
}

bool adv_is_why(enum sched_why why)
{
    return why == SCHED_WHY_RESV || why == SCHED_WHY_RESERVED || why == SCHED_WHY_RESV_MAINT;
}

bool adv_blocked_walk(const struct sched *s, const struct entry *e)
{
    const struct advres *own = find(s, e->cls->shape->key.resv);

    return own && own->blocked_walk == s->walk_run;
}

void adv_block_walk(struct sched *s, const struct entry *e)
{
    struct advres *own = find(s, e->cls->shape->key.resv);

    if (own)
        own->blocked_walk = s->walk_run;
}

/* ---- licences -------------------------------------------------------------------------------- */

void adv_about(struct sched *s, const struct entry *e, int64_t now_us)
{
    if (!s->advs)
        return;
    s->advs->about = e;
    s->advs->about_us = now_us;
}

uint64_t adv_lics_kept(const struct sched *s, uint32_t lic)
{
    const struct advs *a = s->advs;

    if (!a || !a->about)
        return 0;
    return adv_lics_kept_in(s, lic, a->about_us,
                            end_after(a->about_us, a->about->job->time_limit_min));
}

uint64_t adv_lics_kept_in(const struct sched *s, uint32_t lic, int64_t from_us, int64_t to_us)
{
    const struct advs *a = s->advs;
    uint64_t sum = 0;
    uint32_t own;

    if (!a || !a->about)
        return 0;
    own = a->about->cls->shape->key.resv;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct advres *r = a->list[i];
        bool meets = r->lics.n && floats_into(r, from_us, to_us);

        for (uint32_t k = 0; r->lics.n && k < r->nwindows && !r->floats; k++)
            meets = meets || (r->windows[k].start_us < to_us && r->windows[k].end_us > from_us);
        for (uint32_t k = 0; meets && r->id != own && k < r->lics.n; k++)
            if (r->lics.v[k].id == lic)
                sum += r->lics.v[k].count - MIN(r->lics.v[k].count, r->used.v[k].count);
    }
    return sum;
}

void adv_take(const struct sched *s, const struct job *j, bool take)
{
    struct advres *own = j->resv ? find(s, j->resv) : NULL;

    for (uint32_t i = 0; own && i < own->used.n; i++)
        for (uint32_t k = 0; k < j->held.n; k++)
            if (own->used.v[i].id == j->held.v[k].id)
                own->used.v[i].count +=
                    take ? j->held.v[k].count : -MIN(j->held.v[k].count, own->used.v[i].count);
}

void sched_job_resv(struct sched *s, uint32_t id, uint32_t resv)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED || j->resv == resv)
        return;
    adv_take(s, j, false);
    j->resv = resv;
    adv_take(s, j, true);
    s->change++;
}
