/* prof_search.c - the first slot at which a job fits; see profile.h.
 *
 * Times at which nothing comes free are stepped over, and what a node was found to hold in one span
 * stands for the next as long as the same steps are in it. */
#include "sched/plan/profile.h"

#include <errno.h>

#include "sched/plan/profile_int.h"

int prof_recall_fit(const struct pick *p, uint32_t id, struct fit *ret)
{
    const struct recall *t = &p->s->prof->recall[id];

    if (t->search != p->s->prof->searches || p->from >= t->from_end || p->until < t->until_begin)
        return -1;
    if (!t->fits)
        return 0; /* more of the future can only be worse */
    if (p->until > t->until_end)
        return -1;
    *ret = t->fit;
    return 1;
}

void prof_note_fit(const struct pick *p, uint32_t id, const struct fit *fit, bool fits)
{
    struct prof *pf = p->s->prof;
    const struct pnode *pn = &pf->nodes[id];
    uint32_t i = step_find(pn, p->from), k = i;
    struct recall *t = &pf->recall[id];

    t->search = pf->searches;
    t->from_end = i ? step_at(pn, i - 1)->from : UINT32_MAX;
    while (k && step_at(pn, k - 1)->from < p->until)
        k--;
    t->until_begin = MAX(step_at(pn, k)->from + 1, p->from + 1);
    t->until_end = k ? step_at(pn, k - 1)->from : UINT32_MAX;
    t->fits = fits;
    if (fits)
        t->fit = *fit;
}

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
