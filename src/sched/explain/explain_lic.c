/* explain_lic.c - which licences a job waits for, and who has them */
#include "sched/explain/explain_int.h"

static void find_holders(const struct ex *x, uint32_t id, struct explain_license *out)
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
        find_holders(x, id, l);
    }
}
