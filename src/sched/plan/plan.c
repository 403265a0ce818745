/* plan.c - the places of a plan, and what is noted while it is kept; see plan.h.
 *
 * Every node of the profile lists the jobs that hold it, some of which are gone.  To take something
 * back, the node is made anew from those that still do: running jobs first, then places in the
 * order of the plan, each only where there is room. */
#include "sched/plan/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_hold.h"
#include "sched/profile/prof_holders.h"
#include "sched/profile/prof_redo.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/profile.h"
#include "sched/rules/advtime.h"
#include "sched/sched.h"
#include "sched/state/alloc.h"
#include "sched/state/expect.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/planlog.h"
#include "sched/state/sched_obj.h"

#define PLAN_KEEP 100u /* plans of fewer places are quickly made anew */
#define PLAN_INTERVAL_S 30u

int plan_new(struct sched *s, int64_t now_us)
{
    struct plan *pl = calloc(1, sizeof(*pl));
    int r = pl ? 0 : -ENOMEM;

    s->plan = pl;
    if (r == 0)
        r = planlog_start(s);
    if (r == 0) {
        pl->made_us = now_us;
        pl->prio_us = s->prio_us;
        r = prof_make(s, now_us);
    }
    if (r < 0)
        plan_drop(s);
    return r;
}

void place_free(struct place *p)
{
    alloc_done(&p->alloc);
    free(p);
}

void plan_drop(struct sched *s)
{
    struct plan *pl = s->plan;

    prof_drop(s);
    if (!pl)
        return;
    for (uint32_t i = 0; i < pl->n; i++) {
        if (!pl->v[i])
            continue;
        expect_delist(pl->v[i]->job, pl->v[i]);
        place_free(pl->v[i]);
    }
    free(pl->v);
    planlog_end(s);
    free(pl);
    s->plan = NULL;
}

bool plan_may_be_kept(const struct sched *s)
{
    const struct plan *pl = s->plan;
    uint32_t least = s->params.plan_keep ? s->params.plan_keep : PLAN_KEEP;

    if (!pl || s->log.lost || pl->nplaces < least || s->uids || s->labels || s->nclaims ||
        prof_fixed(s) || advs_any(s) || s->params.assoc_limit_stop)
        return false;
    for (uint32_t i = 0; i < s->nparts; i++)
        if (s->parts[i]->oversubscribe > 1)
            return false;
    return true;
}

int64_t plan_renew_us(const struct sched *s)
{
    uint32_t interval_s = s->params.bf_interval_s ? s->params.bf_interval_s : PLAN_INTERVAL_S;

    return s->plan->made_us + (int64_t)interval_s * 1000000;
}

void plan_note_look(struct sched *s, const struct entry *e)
{
    struct plan *pl = s->plan;

    pl->cursor.set = true;
    pl->cursor.first = e->first;
    pl->cursor.ahead = e->ahead;
    pl->cursor.tier = s->parts[e->part]->tier;
    pl->cursor.place = e->place;
    pl->cursor.id = e->job->id;
    pl->cursor.rank = e->rank;
    pl->cursor.submit_us = e->job->submit_us;
}

bool plan_looked_at(const struct sched *s, const struct entry *e)
{
    const struct plan *pl = s->plan;
    uint32_t tier = s->parts[e->part]->tier;

    if (pl->whole)
        return true;
    if (!pl->cursor.set)
        return false;
    if (e->first != pl->cursor.first)
        return e->first;
    if (e->ahead != pl->cursor.ahead)
        return e->ahead;
    if (tier != pl->cursor.tier)
        return tier > pl->cursor.tier;
    if (e->place != pl->cursor.place)
        return e->place > pl->cursor.place;
    if (e->job->submit_us != pl->cursor.submit_us)
        return e->job->submit_us < pl->cursor.submit_us;
    if (e->job->id != pl->cursor.id)
        return e->job->id < pl->cursor.id;
    return e->rank <= pl->cursor.rank;
}

bool sched_backfill_keeps(const struct sched *s)
{
    return s->plan && plan_may_be_kept(s);
}

/* ---- places ---------------------------------------------------------------------------------- */

static int enlist_place(struct sched *s, struct place *p)
{
    int r = expect_enlist(p->job, p);

    if (r < 0)
        return r;
    s->plan->v[p->at] = p;
    s->plan->nplaces++;
    return 0;
}

int place_add(struct sched *s, struct entry *e, struct sched_alloc *a, uint32_t from,
              uint32_t until, struct place **ret)
{
    struct plan *pl = s->plan;
    static const struct job_lics none;
    struct place *p;
    int r;

    if (pl->n == pl->cap) {
        uint32_t cap = pl->cap ? pl->cap * 2 : 64;
        struct place **grown = realloc(pl->v, cap * sizeof(struct place *));

        if (!grown)
            return -ENOMEM;
        pl->v = grown;
        pl->cap = cap;
    }
    p = malloc(sizeof(*p));
    if (!p)
        return -ENOMEM;
    *p = (struct place){ .job = e->job,
                         .entry = e,
                         .from = from,
                         .until = until,
                         .start_us = prof_promise(s, from),
                         .at = pl->n };
    r = prof_hold(s, a, &none, e->job, e->part, true, from, until);
    if (r == 0)
        r = enlist_place(s, p);
    if (r < 0) {
        free(p);
        s->log.lost = true;
        return r;
    }
    pl->n++;
    p->alloc = *a;
    *a = (struct sched_alloc){ 0 };
    if (ret)
        *ret = p;
    return 0;
}

struct place *place_take_out(struct sched *s, struct place *p, bool freed)
{
    expect_delist(p->job, p);
    s->plan->v[p->at] = NULL;
    s->plan->nplaces--;
    s->parts[p->entry->part]->planned--;
    s->bf.planned--;
    planlog_nodes(s, &p->alloc, freed);
    return p;
}

int place_put_back(struct sched *s, struct place *p)
{
    int r = enlist_place(s, p);

    if (r < 0) {
        s->log.lost = true;
        place_free(p);
        return r;
    }
    for (size_t i = 0; r == 0 && i < p->alloc.nnodes; i++)
        r = prof_note_holder(s, p->alloc.nodes[i].node_id, p->job->id);
    if (r < 0)
        s->log.lost = true;
    p->broken = false;
    s->parts[p->entry->part]->planned++;
    s->bf.planned++;
    planlog_nodes(s, &p->alloc, false);
    return r;
}

/* ---- making nodes right ---------------------------------------------------------------------- */

static const struct sched_alloc_node *node_of(const struct sched_alloc *a, uint32_t id)
{
    size_t lo = 0, hi = a->nnodes;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (a->nodes[mid].node_id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < a->nnodes && a->nodes[lo].node_id == id ? &a->nodes[lo] : NULL;
}

static int by_rank(const void *a, const void *b)
{
    const struct prof_holding *x = a, *y = b;

    if (!x->place != !y->place)
        return x->place ? 1 : -1;
    if (x->place && x->place->at != y->place->at)
        return x->place->at < y->place->at ? -1 : 1;
    return (x->job->id > y->job->id) - (x->job->id < y->job->id);
}

/* The jobs and places that hold the node, once each. */
static int gather_holders(struct sched *s, uint32_t id, struct prof_holding **ret, uint32_t *ret_n)
{
    uint32_t n = 0, most = 0, nids, kept = 0;
    uint32_t *ids = prof_holders(s, id, &nids);
    struct prof_holding *v;

    for (uint32_t i = 0; i < nids; i++) {
        struct job *j = job_find(s, ids[i]);

        most++;
        for (struct place *p = j ? expect_places(j) : NULL; p; p = p->next)
            most++;
    }
    v = malloc((most + 1) * sizeof(*v));
    if (!v)
        return -ENOMEM;
    for (uint32_t i = 0; i < nids; i++) {
        struct job *j = job_find(s, ids[i]);

        if (!j)
            continue;
        v[n] = (struct prof_holding){ .job = j, .an = node_of(&j->alloc, id) };
        n += j->state >= JOB_PROPOSED && v[n].an;
        for (struct place *p = expect_places(j); p; p = p->next) {
            v[n] = (struct prof_holding){ .job = j, .place = p, .an = node_of(&p->alloc, id) };
            n += v[n].an != NULL;
        }
    }
    qsort(v, n, sizeof(*v), by_rank);
    for (uint32_t i = 0; i < n; i++)
        if (!kept || by_rank(&v[kept - 1], &v[i]) != 0)
            v[kept++] = v[i];
    for (uint32_t i = 0; i < kept; i++)
        ids[i] = v[i].job->id;
    prof_holders_cut(s, id, kept);
    *ret = v;
    *ret_n = kept;
    return 0;
}

int plan_settle(struct sched *s, uint32_t *ret_broken)
{
    int r = 0;

    *ret_broken = 0;
    for (uint32_t i = 0; r == 0 && i < s->log.ndirty; i++) {
        _cleanup_free_ struct prof_holding *v = NULL;
        uint32_t id = s->log.dirty_ids[i], n = 0;

        bitmap_clear(s->log.dirty, id);
        r = gather_holders(s, id, &v, &n);
        if (r == 0)
            r = prof_redo(s, id, v, n);
        for (uint32_t k = 0; r == 0 && k < n; k++) {
            if (!v[k].no_room || v[k].place->broken)
                continue;
            v[k].place->broken = true;
            (*ret_broken)++;
        }
    }
    s->log.ndirty = 0;
    if (r < 0)
        s->log.lost = true;
    return r;
}

/* ---- what happens ---------------------------------------------------------------------------- */

void plan_note_leave(struct sched *s, struct job *j)
{
    if (!s->plan)
        return;
    for (struct place *p; (p = expect_places(j));)
        place_free(place_take_out(s, p, true));
    if (j->state >= JOB_PROPOSED)
        planlog_nodes(s, &j->alloc, true);
}

void plan_note_park(struct sched *s, struct entry *e)
{
    struct place *p = expect_places(e->job);

    while (p && p->entry != e)
        p = p->next;
    if (p)
        place_free(place_take_out(s, p, true));
    if (!expect_places(e->job))
        expect_clear(e->job);
}

void plan_note_hold(struct sched *s, const struct job *j)
{
    if (!s->plan || s->planning)
        return;
    for (size_t i = 0; i < j->alloc.nnodes; i++)
        if (prof_note_holder(s, j->alloc.nodes[i].node_id, j->id) < 0)
            s->log.lost = true;
    planlog_nodes(s, &j->alloc, false);
}

void plan_note_late(struct sched *s, const struct job *j)
{
    planlog_nodes(s, &j->alloc, false);
}

void plan_note_end(struct sched *s, const struct job *j, int64_t old_us)
{
    uint32_t was, is;

    if (!s->plan || j->end_us == old_us)
        return;
    was = prof_slot_at(s, old_us);
    is = prof_slot_at(s, j->end_us);
    if (was == is)
        prof_note_end(s, is, j->end_us);
    else
        planlog_nodes(s, &j->alloc, is < was);
}
