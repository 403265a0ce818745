/* prof_recall.c - what a node was found to hold in one span stands for the next as long as the same
 * steps are in the span. */
#include "sched/profile/prof_recall.h"

#include "base/cleanup.h"
#include "sched/profile/prof_data.h"
#include "sched/profile/prof_steps.h"
#include "sched/state/fits.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"

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
