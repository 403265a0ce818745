/* prof_search.c - the first slot of the profile at which a job fits.
 *
 * Slots at which nothing comes free are stepped over. */
#include "sched/plan/prof_search.h"

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_slots.h"
#include "sched/rules/advres.h"
#include "sched/sched.h"
#include "sched/select/joblayout.h"
#include "sched/select/pick.h"
#include "sched/state/endtime.h"
#include "sched/state/lics.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

void prof_span(struct pick *p, uint32_t from, uint32_t minutes)
{
    p->plan = true;
    p->from = from;
    p->until = prof_until(p->s, from, minutes);
    p->end_us = from > prof_now(p->s) ? 0 : end_after(prof_time(p->s, from), minutes);
    adv_span(p, prof_time(p->s, from), minutes);
    p->s->prof->searches++;
}

int prof_search(struct pick *p, const struct job_lics *want, uint32_t minutes, uint32_t first,
                bool only, struct sched_alloc *ret_alloc)
{
    struct sched *s = p->s;
    uint32_t slot = first, which, next;
    int r = 0;

    p->plan = true;
    s->prof->searches++;
    while (slot < s->prof->nslots) {
        p->from = slot;
        p->until = prof_until(s, slot, minutes);
        p->end_us = slot > prof_now(s) ? 0 : end_after(prof_time(s, slot), minutes);
        p->next = UINT32_MAX;
        adv_span(p, prof_time(s, slot), minutes);
        r = prof_lics(s, want, p->from, p->until, &which) ? pick_nodes(p) : 0;
        if (r == 1) {
            r = layout_chosen(p, ret_alloc);
            p->next = slot + 1;
        }
        if (r != 0 || only)
            break;
        s->prof->searches +=
            slot == prof_now(s); /* its end is held to promises more exactly than later ones */
        next = p->next == UINT32_MAX ? slot + 1 : p->next;
        slot = prof_release(s, MAX(next, slot + 1));
    }
    p->plan = false;
    return r;
}
