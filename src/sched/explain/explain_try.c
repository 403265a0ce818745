/* explain_try.c - would a job start, beside the places of all that go before it?
 *
 * The heads that go before the job get reservations, as backfill gives them (all jobs that go
 * before it get their places when it is conservative); every question is then put to selection
 * beside these. */
#include "sched/explain/explain_try.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/bfshare.h"
#include "sched/plan/conservative.h"
#include "sched/plan/prof_search.h"
#include "sched/plan/resvadd.h"
#include "sched/plan/timeline.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/partlimits.h"
#include "sched/rules/prio.h"
#include "sched/sched.h"
#include "sched/select/joblayout.h"
#include "sched/state/alloc.h"
#include "sched/state/endtime.h"
#include "sched/state/jobbuild.h"
#include "sched/state/jobs.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/queue.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

static bool goes_before(const struct sched *s, const struct entry *a, const struct entry *b)
{
    uint32_t x = s->parts[a->part]->tier, y = s->parts[b->part]->tier;

    return a->first != b->first ? a->first : x != y ? x > y : entry_before(a, b);
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
        e->priority = e->place = entry_priority(s, e, x->now_us);
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
