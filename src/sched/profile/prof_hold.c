/* prof_hold.c - holding what a job gets throughout a span of slots */
#include "sched/profile/prof_hold.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/profile/prof_bits.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_holders.h"
#include "sched/profile/prof_slots.h"
#include "sched/profile/prof_steps.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/sched_obj.h"

/* A step begins at slot, a copy of the one it lay in.  Gives its index. */
static int split_step(struct pnode *pn, uint32_t slot)
{
    uint32_t i = step_find(pn, slot);

    if (step_at(pn, i)->from == slot)
        return (int)i;
    if (prof_steps_room(pn, pn->n + 1) < 0)
        return -ENOMEM;
    memmove(step_at(pn, i + 1), step_at(pn, i), (size_t)(pn->n - i) * pn->stride);
    pn->n++;
    step_at(pn, i)->from = slot;
    step_at(pn, i)->starts_us = 0;
    return (int)i;
}

/* Steps begin where the span does and where it ends.  *ret_i: the one that begins with it. */
static int open_span(struct sched *s, const struct hold *h, uint32_t from, uint32_t until,
                     uint32_t *ret_i)
{
    struct prof *pf = s->prof;
    struct pnode *pn = &pf->nodes[h->an->node_id];
    int i = until < pf->nslots ? split_step(pn, until) : 0;

    if (i >= 0)
        i = split_step(pn, from);
    if (i < 0)
        return i;
    *ret_i = (uint32_t)i;
    if (h->keeper) {
        struct step *st = step_at(pn, (uint32_t)i);

        st->starts_us = st->starts_us ? MIN(st->starts_us, h->start_us) : h->start_us;
    }
    return 0;
}

int prof_steps_hold(struct sched *s, const struct hold *h, uint32_t from, uint32_t until)
{
    struct pnode *pn = &s->prof->nodes[h->an->node_id];
    uint32_t i;
    int r = open_span(s, h, from, until, &i);

    for (uint32_t k = i + 1; r == 0 && k-- > 0 && step_at(pn, k)->from < until;)
        step_add(s, h->an->node_id, step_at(pn, k), h);
    return r;
}

static int hold_node(struct sched *s, const struct hold *h, uint32_t from, uint32_t until)
{
    struct prof *pf = s->prof;
    uint32_t id = h->an->node_id, i;
    struct pnode *pn = &pf->nodes[id];
    int r = open_span(s, h, from, until, &i);

    for (uint32_t k = i + 1; r == 0 && k-- > 0;) {
        struct step *st = step_at(pn, k);
        uint32_t before = levels_of(pf, step_free(&s->nodes[id], st));
        bool held = st->held;

        if (st->from >= until)
            break;
        step_add(s, id, st, h);
        prof_bits_refresh(s, id, st, k ? step_at(pn, k - 1)->from : pf->nslots, before, held);
    }
    return r;
}

int prof_hold(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
              const struct job *j, uint32_t part, bool firm, uint32_t from, uint32_t until)
{
    struct prof *pf = s->prof;
    int r = 0;

    until = MIN(until, pf->nslots);
    pf->holds++;
    for (size_t i = 0; r == 0 && i < a->nnodes; i++) {
        struct hold h = { .an = &a->nodes[i],
                          .part = part,
                          .uid = j->uid,
                          .label = j->label,
                          .firm = firm,
                          .cpus = true,
                          .owned = j->owned,
                          .keeper = from > pf->now ? j->id : 0,
                          .start_us = prof_promise(s, from) };

        r = hold_node(s, &h, from, until);
        if (r == 0)
            r = prof_note_holder(s, h.an->node_id, j->id);
    }
    prof_bits_flush(pf);
    prof_lics_add(pf, lics, from, until);
    if (until < pf->nslots)
        pf->release[until] = true;
    return r;
}

uint32_t prof_stretch(const struct sched *s, const struct sched_alloc *a, uint32_t part,
                      uint32_t until, uint32_t most)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct pnode *pn = &s->prof->nodes[a->nodes[i].node_id];

        for (uint32_t k = step_find(pn, until) + 1; k-- > 0 && step_at(pn, k)->from < most;) {
            const struct step *st = step_at(pn, k);

            if (a->nodes[i].ngres || !step_holds((struct sched *)s, st, &a->nodes[i], part))
                most = MAX(st->from, until);
        }
    }
    return most;
}
