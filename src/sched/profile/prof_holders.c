/* prof_holders.c - for each node of a profile the jobs that hold it; some of them are gone */
#include "sched/profile/prof_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "sched/profile/prof_data.h"
#include "sched/state/sched_obj.h"

uint32_t *prof_holders(const struct sched *s, uint32_t id, uint32_t *ret_n)
{
    *ret_n = s->prof->nodes[id].nids;
    return s->prof->nodes[id].ids;
}

void prof_holders_cut(struct sched *s, uint32_t id, uint32_t n)
{
    s->prof->nodes[id].nids = n;
}

int prof_note_holder(struct sched *s, uint32_t id, uint32_t job)
{
    struct pnode *pn = id < s->prof->nnodes ? &s->prof->nodes[id] : NULL;

    if (!pn)
        return -ERANGE;
    if (pn->nids == pn->cap_ids) {
        uint32_t cap = pn->cap_ids ? pn->cap_ids * 2 : 4;
        uint32_t *grown = realloc(pn->ids, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        pn->ids = grown;
        pn->cap_ids = cap;
    }
    pn->ids[pn->nids++] = job;
    return 0;
}
