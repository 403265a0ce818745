/* prof_redo.c - taking back what a node held: it is made anew from the jobs that still hold it.
 *
 * Of a step one cannot subtract - bits may be held by two, sums are of many - but a node has few
 * holders, and the bitmaps follow in those slots alone in which its levels changed. */
#include "sched/profile/prof_redo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/profile/prof_bits.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_hold.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_steps.h"
#include "sched/sched.h"
#include "sched/state/expect.h"
#include "sched/state/gresrow.h"
#include "sched/state/jobs.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

/* Are devices of an held by another job? */
static bool devices_held(const struct node *n, const struct gres_row *row, const uint64_t *dev,
                         const struct sched_alloc_gres *g)
{
    for (const struct gres_row *r = n->gres; r < row; r++)
        dev += r->dev.nwords;
    for (uint32_t d = 0; row->indexed && g->devices && d < row->dev.n; d++) {
        uint32_t bit = row->first + d;

        if (bit / 64 < g->ndevice_words && (g->devices[bit >> 6] >> (bit & 63) & 1) &&
            (dev[d >> 6] >> (d & 63) & 1))
            return true;
    }
    return false;
}

static bool has_room(struct sched *s, const struct step *st, const struct sched_alloc_node *an,
                     uint32_t part)
{
    struct node *n = &s->nodes[an->node_id];
    struct layout l = step_layout(n);

    if (!step_holds(s, st, an, part))
        return false;
    for (size_t i = 0; i < an->ngres; i++) {
        const struct gres_row *row = node_gres_row(s, n, &an->gres[i]);

        if (row && (st->w[l.used + (row - n->gres)] + an->gres[i].count > row->total ||
                    devices_held(n, row, st->w + l.dev, &an->gres[i])))
            return false;
    }
    return true;
}

static struct hold hold_of(const struct prof_holding *v)
{
    const struct job *j = v->job;

    return (struct hold){ .an = v->an,
                          .part = j->part,
                          .uid = j->uid,
                          .label = j->label,
                          .firm = j->firm,
                          .cpus = j->state != JOB_SUSPENDED,
                          .owned = j->owned };
}

/* Is a job in the way that still runs in the second for which the place is promised?  Running
 * jobs come first.  1, 0, -ENOMEM. */
static int is_overrun(struct sched *s, uint32_t id, const struct prof_holding *v,
                      const struct prof_holding *all)
{
    const struct place *p = v->place;
    const struct prof *pf = s->prof;
    const struct pnode *pn = &pf->nodes[id];
    _cleanup_free_ struct step *st = NULL;

    for (; p->from > pf->now && !all->place; all++) {
        struct hold h = hold_of(all);

        if (all->job->end_us <= p->start_us || prof_slot_from(pf, all->job->end_us) != p->from)
            continue;
        if (!st) {
            st = malloc(pn->stride);
            if (!st)
                return -ENOMEM;
            memcpy(st, step_at(pn, step_find(pn, p->from)), pn->stride);
        }
        step_add(s, id, st, &h);
    }
    return st && !has_room(s, st, v->an, p->entry->part);
}

static int redo_place(struct sched *s, uint32_t id, struct prof_holding *v,
                      const struct prof_holding *all)
{
    const struct place *p = v->place;
    struct prof *pf = s->prof;
    struct pnode *pn = &pf->nodes[id];
    struct hold h = { .an = v->an,
                      .part = p->entry->part,
                      .uid = v->job->uid,
                      .label = v->job->label,
                      .firm = true,
                      .cpus = true,
                      .owned = v->job->owned,
                      .keeper = p->from > pf->now ? v->job->id : 0,
                      .start_us = p->start_us };
    int r = is_overrun(s, id, v, all);

    if (r < 0)
        return r;
    v->no_room = !bitmap_test(s->up, id) || r;
    for (uint32_t k = step_find(pn, MAX(p->from, pf->now)) + 1;
         !v->no_room && k-- > 0 && step_at(pn, k)->from < p->until;)
        v->no_room = !has_room(s, step_at(pn, k), v->an, h.part);
    return v->no_room ? 0 : prof_steps_hold(s, &h, p->from, MIN(p->until, pf->nslots));
}

static int redo_running(struct sched *s, const struct prof_holding *v)
{
    struct prof *pf = s->prof;
    struct hold h = hold_of(v);
    uint32_t end = MAX(prof_slot_from(pf, v->job->end_us), pf->now + 1);

    prof_note_end(s, end, v->job->end_us);
    if (end < pf->nslots)
        pf->release[end] = true;
    return prof_steps_hold(s, &h, 0, MIN(end, pf->nslots));
}

int prof_redo(struct sched *s, uint32_t id, struct prof_holding *v, uint32_t n)
{
    uint8_t was[PROF_SLOTS_MAX] = { 0 }, is[PROF_SLOTS_MAX] = { 0 };
    int r;

    prof_levels(s, id, was);
    r = prof_steps_clear(s, id);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = v[i].place ? redo_place(s, id, &v[i], v) : redo_running(s, &v[i]);
    if (r < 0)
        return r;
    prof_levels(s, id, is);
    prof_bits_change(s, id, was, is);
    s->prof->holds++;
    s->prof->searches++;
    return 0;
}

uint32_t prof_hole(const struct sched *s, uint32_t id, uint32_t cpus, uint64_t mem,
                   uint32_t minutes, uint32_t before, const struct place *own)
{
    const struct prof *pf = s->prof;
    const struct pnode *pn = &pf->nodes[id];
    const struct node *n = &s->nodes[id];
    uint32_t at = pf->now, until = prof_until(s, at, minutes);

    for (uint32_t i = step_find(pn, at) + 1; i-- > 0 && at < before;) {
        const struct step *st = step_at(pn, i);
        uint32_t end = i ? step_at(pn, i - 1)->from : pf->nslots;
        bool mine = own && st->from >= own->from && st->from < own->until;

        if (mine || (step_free(n, st) >= cpus && st->mem + mem <= n->mem_mib)) {
            if (end >= MIN(until, pf->nslots))
                return at;
            continue;
        }
        at = end;
        if (at < before)
            until = prof_until(s, at, minutes);
    }
    return UINT32_MAX;
}
