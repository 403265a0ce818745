/* hetplace.c - heterogeneous jobs: components that start together or not at all.
 *
 * Component k of group g is the job g + k.  Each component is queued as a job of its own, so
 * order and reasons come out as for any job; but whenever the walk meets one, the whole group is
 * tried, once a walk. A trial holds what the earlier components would take while it places the
 * next, and lets everything go again before anything is proposed.  No two components share a
 * node; the most urgent one chooses first. When backfill reserves for a component, it reserves
 * for all of them at the time at which the last one fits: running jobs only end, so what fits
 * earlier still fits then. */
#include "sched/plan/hetplace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/plan/plan.h"
#include "sched/plan/prof_search.h"
#include "sched/plan/proposal.h"
#include "sched/plan/resvadd.h"
#include "sched/plan/timeline.h"
#include "sched/profile/prof_hold.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/advres.h"
#include "sched/rules/advtime.h"
#include "sched/rules/licfit.h"
#include "sched/rules/limit_check.h"
#include "sched/rules/limit_count.h"
#include "sched/rules/partlimits.h"
#include "sched/sched.h"
#include "sched/select/advwhy.h"
#include "sched/select/joblayout.h"
#include "sched/select/pick.h"
#include "sched/select/powerroom.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/jobs.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

struct member {
    struct job *job;
    struct entry *entry; /* of the partition that holds it */
    struct pick pick;
    struct sched_alloc alloc;
};

struct group {
    struct member *members;
    uint32_t n;
    struct bitmap *minus; /* nodes kept for others, and those of the components placed so far */
    bool overlay;         /* backfill: keep clear of reservations */
    bool plan;            /* conservative: from this slot on */
    uint32_t slot;
    int64_t now_us;
};

static void group_done(struct group *g)
{
    for (uint32_t i = 0; i < g->n && g->members; i++)
        alloc_done(&g->members[i].alloc);
    free(g->members);
    bitmap_free(g->minus);
}

static int more_urgent(const void *a, const void *b)
{
    const struct job *x = ((const struct member *)a)->job, *y = ((const struct member *)b)->job;
    uint32_t p = x->nentries ? x->entries[0]->priority : 0,
             q = y->nentries ? y->entries[0]->priority : 0;

    if (p != q)
        return p > q ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* 1 with the members, 0 while one of them is not in the queue, -ENOMEM. */
static int group_find(const struct sched *s, const struct job *j, struct group *ret)
{
    ret->members = calloc(j->het->count, sizeof(*ret->members));
    ret->n = j->het->count;
    if (!ret->members)
        return -ENOMEM;
    for (uint32_t i = 0; i < ret->n; i++) {
        struct job *m = job_find(s, j->het->id + i);

        if (!m || !m->het || m->het->id != j->het->id || m->state != JOB_QUEUED)
            return 0;
        ret->members[i].job = m;
    }
    qsort(ret->members, ret->n, sizeof(*ret->members), more_urgent);
    return bitmap_new(s->nbits, &ret->minus) < 0 ? -ENOMEM : 1;
}

/* Could a member start in this partition now?  1 with alloc, 0 with *ret_why. */
static int member_fits(struct sched *s, struct member *m, struct entry *e, const struct group *g,
                       int64_t end_us, enum sched_why *ret_why)
{
    struct part *part = s->parts[e->part];
    uint32_t which;
    int r;

    m->pick = (struct pick){ .s = s, .cls = e->cls, .part = part };
    m->pick.minus = g->minus;
    m->pick.overlay = g->overlay;
    m->pick.end_us = end_us;
    if (!g->plan)
        adv_span(&m->pick, g->now_us, m->job->time_limit_min);
    *ret_why = entry_limits(s, e);
    if (!*ret_why)
        *ret_why = limit_refuses(s, e, NULL, m->job->time_limit_min, g->now_us);
    if (!*ret_why && !lics_fit(s, &m->job->want, g->overlay ? end_us : 0, &which))
        *ret_why = SCHED_WHY_LICENSES;
    if (*ret_why)
        return 0;
    if (g->plan) {
        r = prof_search(&m->pick, &m->job->want, m->job->time_limit_min, g->slot, true, &m->alloc);
    } else {
        r = pick_layout(&m->pick, &m->alloc);
    }
    if (r == 1 && (*ret_why = limit_refuses(s, e, &m->alloc, m->job->time_limit_min, g->now_us))) {
        alloc_done(&m->alloc);
        return 0;
    }
    if (r == 0) {
        m->pick.minus = NULL;
        m->pick.overlay = false;
        *ret_why = pick_verdict(&m->pick);
        if (*ret_why == SCHED_WHY_RESOURCES && (advs_any(s) || e->cls->shape->key.resv)) {
            enum sched_why adv = adv_why(s, e, g->now_us);

            *ret_why = adv ? adv : *ret_why;
        }
    }
    return r;
}

/* In the first of its partitions that can hold it. */
static int place_member(struct sched *s, struct member *m, const struct group *g, int64_t now_us,
                        enum sched_why *ret_why)
{
    int64_t end_us = end_after(now_us, m->job->time_limit_min);
    enum sched_why why = SCHED_WHY_NONE;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < m->job->nentries; i++) {
        m->entry = m->job->entries[i];
        r = member_fits(s, m, m->entry, g, end_us, &why);
        if (i == 0 || why == SCHED_WHY_RESOURCES)
            *ret_why = why;
    }
    return r;
}

static void keep_off(const struct group *g, const struct member *m)
{
    for (size_t k = 0; k < m->alloc.nnodes; k++)
        bitmap_set(g->minus, m->alloc.nodes[k].node_id);
}

/* The nodes that keep_off() took for it are free for the others. */
static void let_go(const struct group *g, struct member *m)
{
    for (size_t k = 0; k < m->alloc.nnodes; k++)
        bitmap_clear(g->minus, m->alloc.nodes[k].node_id);
    alloc_done(&m->alloc);
}

/* Limits count what the earlier components would hold, too. */
static void hold_charge(struct sched *s, const struct member *m, int64_t now_us, bool take)
{
    struct job *j = m->job;

    if (!take) {
        limit_release(s, j);
        return;
    }
    j->alloc = m->alloc; /* lent for the count */
    j->part = m->entry->part;
    j->end_us = end_after(now_us, j->time_limit_min);
    (void)limit_charge(s, j); /* out of memory: each is tested alone */
    j->alloc = (struct sched_alloc){ 0 };
    j->end_us = INT64_MAX;
}

static void hold_member(struct sched *s, const struct member *m, int64_t now_us, bool take)
{
    hold_charge(s, m, now_us, take);
    for (size_t i = 0; i < m->alloc.nnodes; i++) {
        if (take)
            node_take(s, &m->alloc.nodes[i], m->entry->part, m->pick.share_max == 1, true, true);
        else
            node_release(s, &m->alloc.nodes[i], m->entry->part, m->pick.share_max == 1, true, true);
    }
}

/* 1 when every member has an allocation beside those before it, else 0.  *ret_why: what keeps the
 * group, for the member own; an impossible member matters more than one that waits.  *ret_first:
 * the first that found no place. */
static int place_in_order(struct sched *s, struct group *g, const struct job *own, int64_t now_us,
                          enum sched_why *ret_why, uint32_t *ret_first)
{
    uint32_t placed = 0;
    int r = 1;

    *ret_first = 0;
    *ret_why = SCHED_WHY_RESOURCES;
    g->now_us = now_us;
    s->travelling = true; /* capacity does not really shrink and grow */
    for (uint32_t i = 0; r >= 0 && i < g->n; i++) {
        enum sched_why why = SCHED_WHY_NONE;
        int fit = place_member(s, &g->members[i], g, now_us, &why);

        if (fit == 1 && r == 1) {
            keep_off(g, &g->members[i]);
            hold_member(s, &g->members[i], now_us, true);
            placed++;
            continue;
        }
        if (fit == 1) /* for nothing: one before it has no place */
            alloc_done(&g->members[i].alloc);
        if (r == 1)
            *ret_first = i;
        r = fit < 0 ? fit : 0;
        if (fit == 0 && why != SCHED_WHY_RESOURCES &&
            (g->members[i].job == own || *ret_why == SCHED_WHY_RESOURCES))
            *ret_why = why;
    }
    while (placed > 0) {
        hold_member(s, &g->members[--placed], now_us, false);
        if (r == 0)
            let_go(g, &g->members[placed]);
    }
    s->travelling = false;
    return r;
}

/* As place_in_order(); one that the nodes of those before it would have served chooses first. */
static int place_all(struct sched *s, struct group *g, const struct job *own, int64_t now_us,
                     enum sched_why *ret_why)
{
    uint32_t first = 0;
    int r = place_in_order(s, g, own, now_us, ret_why, &first);

    for (uint32_t i = 1; r == 0 && i < g->n && *ret_why == SCHED_WHY_RESOURCES && first > 0; i++) {
        struct member choosy = g->members[first];

        memmove(&g->members[1], &g->members[0], first * sizeof(choosy));
        g->members[0] = choosy;
        r = place_in_order(s, g, own, now_us, ret_why, &first);
    }
    return r;
}

/* The first component, as long as it waits. */
static struct job *leader_of(const struct sched *s, const struct job *j)
{
    struct job *leader = job_find(s, j->het->id);

    return leader && leader->het && leader->state < JOB_PROPOSED ? leader : NULL;
}

static int start_member(struct sched *s, struct member *m, int64_t now_us, bool backfill,
                        struct sched_decisions *out)
{
    struct job *j = m->job;
    int r = backfill ? line_room(s) : 0;

    if (r == 0)
        r = decide_start(&m->pick, m->entry, &m->alloc, now_us, j->time_limit_min, out);
    if (r < 0 || !backfill)
        return r;
    resv_charge(s, &j->alloc, &j->held, j->part, j->end_us);
    line_add(s, j);
    out->bf_started++;
    out->bf_het_started++;
    return 0;
}

/* Together its components would power up more nodes than there may be. */
static bool lacks_power(const struct sched *s, const struct group *g)
{
    uint32_t more = 0;

    for (uint32_t i = 0; i < g->n; i++)
        if (powerroom_lacks(s, &g->members[i].alloc, &more))
            return true;
    return false;
}

int het_try(struct sched *s, struct entry *e, int64_t now_us, bool backfill,
            struct sched_decisions *out, enum sched_why *ret_why)
{
    _cleanup_val_(group_done) struct group g = { 0 };
    struct job *leader = leader_of(s, e->job);
    int r;

    *ret_why = SCHED_WHY_NONE;
    if (leader && leader->het->walk == s->walk_run) {
        *ret_why = leader->het->why;
        return 0;
    }
    r = group_find(s, e->job, &g);
    g.overlay = backfill;
    if (r == 1 && !backfill && s->any_withheld)
        bitmap_or(g.minus, s->withheld);
    if (r == 1)
        r = place_all(s, &g, e->job, now_us, ret_why);
    if (r == 1 && lacks_power(s, &g)) {
        *ret_why = SCHED_WHY_RESOURCES;
        r = 0;
    }
    if (r == 0 && leader) {
        leader->het->walk = s->walk_run;
        leader->het->why = *ret_why;
    }
    for (uint32_t i = 0; r == 1 && i < g.n; i++) {
        int code = start_member(s, &g.members[i], now_us, backfill, out);

        if (code < 0)
            r = code; /* what was proposed is refused: the group is not whole */
    }
    return r;
}

/* A place for one component that runs for as long as it may, beside what is reserved. */
static int plan_one(struct sched *s, const struct group *g, struct member *m, int64_t now_us,
                    int64_t *ret_start_us, struct resv_node **ret_spare)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < m->job->nentries; i++) {
        struct entry *e = m->entry = m->job->entries[i];
        struct pick p = { .s = s, .cls = e->cls, .part = s->parts[e->part], .pad = true };

        if (entry_limits(s, e))
            continue;
        p.minus = g->minus;
        p.overlay = true;
        p.end_us = INT64_MAX;
        r = pick_layout(&p, &m->alloc);
        p.overlay = false;
        *ret_start_us = now_us;
        if (r == 1 && !(*ret_spare = spare_of(s, &m->alloc, e->part)))
            return -ENOMEM;
        if (r == 0)
            r = plan(&p, now_us, ret_start_us, &m->alloc, ret_spare);
    }
    return r;
}

int het_reserve(struct sched *s, struct entry *e, int64_t now_us, int64_t *ret_start_us)
{
    _cleanup_val_(group_done) struct group g = { 0 };
    struct job *leader = leader_of(s, e->job);
    uint32_t first = s->nresvs;
    int64_t at_us = now_us;
    int r = group_find(s, e->job, &g);

    *ret_start_us = 0;
    if (r <= 0 || leader->het->resv_run == s->bf_run)
        return MIN(r, 0);
    leader->het->resv_run = s->bf_run;
    if (!s->line_made)
        r = line_make(s) < 0 ? -ENOMEM : 1;
    for (uint32_t i = 0; r == 1 && i < g.n; i++) {
        _cleanup_free_ struct resv_node *spare = NULL;
        int64_t start_us = 0;

        r = plan_one(s, &g, &g.members[i], now_us, &start_us, &spare);
        if (r == 1)
            keep_off(&g, &g.members[i]);
        if (r == 1 && resv_add(s, g.members[i].entry->part, start_us, &g.members[i].alloc, &spare,
                               &g.members[i].job->want) < 0)
            r = -ENOMEM;
        at_us = MAX(at_us, start_us);
    }
    for (uint32_t i = first; i < s->nresvs; i++)
        s->resvs[i].start_us = at_us;
    if (r == 1)
        *ret_start_us = at_us;
    return MIN(r, 0);
}

/* All components at the group's slot: 1 when they fit. */
static int place_at(struct sched *s, struct group *g, const struct job *own, int64_t now_us,
                    uint32_t slot, enum sched_why *ret_why)
{
    for (uint32_t i = 0; i < g->n; i++)
        alloc_done(&g->members[i].alloc);
    bitmap_zero(g->minus);
    g->plan = true;
    g->slot = slot;
    return place_all(s, g, own, now_us, ret_why);
}

static int start_planned(struct sched *s, struct member *m, int64_t now_us,
                         struct sched_decisions *out)
{
    struct job *j = m->job;
    int r = decide_start(&m->pick, m->entry, &m->alloc, now_us, j->time_limit_min, out);

    if (r == 0)
        r = prof_hold(s, &j->alloc, &j->held, j, j->part, j->firm, prof_now(s),
                      prof_until(s, prof_now(s), j->time_limit_min));
    if (r < 0)
        return r;
    out->bf_started++;
    out->bf_het_started++;
    return 0;
}

int het_plan(struct sched *s, struct entry *e, int64_t now_us, struct sched_decisions *out,
             int64_t *ret_start_us, enum sched_why *ret_why)
{
    _cleanup_val_(group_done) struct group g = { 0 };
    struct job *leader = leader_of(s, e->job);
    enum sched_why why = SCHED_WHY_NONE;
    uint32_t slot = prof_now(s), until;
    int r;

    *ret_why = SCHED_WHY_NONE;
    *ret_start_us = 0;
    if (leader && leader->het->walk == s->walk_run) {
        *ret_why = leader->het->why;
        return 0;
    }
    r = group_find(s, e->job, &g);
    if (r <= 0)
        return r;
    r = place_at(s, &g, e->job, now_us, slot, ret_why);
    if (r == 1 && lacks_power(s, &g)) {
        *ret_why = SCHED_WHY_RESOURCES;
        r = 0;
    }
    if (r == 1) {
        for (uint32_t i = 0; r >= 0 && i < g.n; i++)
            r = start_planned(s, &g.members[i], now_us, out);
        return r < 0 ? r : 1;
    }
    leader->het->walk = s->walk_run;
    leader->het->why = *ret_why;
    while (r == 0 && *ret_why == SCHED_WHY_RESOURCES &&
           (slot = prof_release(s, slot + 1)) < prof_slots(s))
        r = place_at(s, &g, e->job, now_us, slot, &why);
    for (uint32_t i = 0; r == 1 && i < g.n; i++) {
        struct member *m = &g.members[i];

        until = prof_until(s, slot, m->job->time_limit_min);
        s->bf.planned++;
        s->parts[m->entry->part]->planned++;
        if (place_add(s, m->entry, &m->alloc, slot, until, NULL) < 0)
            r = -ENOMEM;
        prof_note_end(s, until, INT64_MAX);
    }
    if (r == 1)
        *ret_start_us = prof_promise(s, slot);
    return r < 0 ? r : 0;
}
