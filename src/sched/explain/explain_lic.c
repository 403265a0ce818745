/* explain_lic.c - which licences a job waits for, and which jobs hold them */
#include "sched/explain/explain_lic.h"

#include "sched/explain/explain_try.h"
#include "sched/explain/sched_explain.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

/* ---- the nodes of a partition ---------------------------------------------------------------- */

void ex_add_holder(struct explain_holder *list, uint32_t *n, uint32_t *all,
                   const struct explain_holder *h)
{
    uint32_t at;

    ++*all;
    if (*n == EXPLAIN_HOLDERS && h->end_us >= list[EXPLAIN_HOLDERS - 1].end_us)
        return;
    if (*n < EXPLAIN_HOLDERS)
        ++*n;
    for (at = *n - 1; at && list[at - 1].end_us > h->end_us; at--)
        list[at] = list[at - 1];
    list[at] = *h;
}

static void find_lic_holders(const struct ex *x, uint32_t id, struct explain_license *out)
{
    struct holders_iter it = { 0 };

    for (const struct job *j; (j = holders_next(x->s, &it));) {
        struct explain_holder h = { .job_id = j->id, .end_us = j->end_us };

        for (uint32_t i = 0; i < j->held.n; i++)
            if (j->held.v[i].id == id)
                h.nodes += (uint32_t)j->held.v[i].count;
        if (h.nodes && j->id != x->job_id)
            ex_add_holder(out->holders, &out->nholders, &out->nholding, &h);
    }
}

void ex_licenses(const struct ex *x, const struct job *j, struct sched_explanation *out)
{
    const struct sched *s = x->s;

    out->licenses_any = j->want.any;
    for (uint32_t i = 0; i < j->want.n && out->nlicenses < EXPLAIN_LICENSES; i++) {
        uint32_t id = j->want.v[i].id;
        struct explain_license *l = &out->licenses[out->nlicenses++];

        *l = (struct explain_license){ .name = s->lic_tab.names[id],
                                       .wanted = j->want.v[i].count,
                                       .total = id < s->nlics ? s->lics[id].total : 0,
                                       .used = id < s->nlics ? s->lics[id].used : 0 };
        find_lic_holders(x, id, l);
    }
}
