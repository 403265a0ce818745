/* explain_lic.c - which licences a job waits for, and which jobs hold them */
#include "sched/explain/explain_lic.h"

#include "sched/explain/explain_try.h"
#include "sched/explain/sched_explain.h"
#include "sched/state/holders.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
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

static void tell_license(const struct ex *x, uint32_t id, uint64_t wanted,
                         struct sched_explanation *out)
{
    const struct sched *s = x->s;
    struct explain_license *l;

    if (out->nlicenses == EXPLAIN_LICENSES)
        return;
    l = &out->licenses[out->nlicenses++];
    *l = (struct explain_license){ .name = s->lic_tab.names[id],
                                   .wanted = wanted,
                                   .total = s->lics[id].total,
                                   .used = s->lics[id].used };
    find_lic_holders(x, id, l);
}

void ex_licenses(const struct ex *x, const struct job *j, struct sched_explanation *out)
{
    const struct sched *s = x->s;

    out->licenses_any = j->want.any;
    for (uint32_t i = 0; i < j->want.n; i++) {
        uint32_t id = j->want.v[i].id;
        const struct hres *h = hres_of(s, id);

        if (!h)
            tell_license(x, id, j->want.v[i].count, out);
        for (uint32_t k = 0; h && k < h->n; k++) /* the layers that have too little left */
            if (license_unused(&s->lics[h->layers[k].lic]) < j->want.v[i].count)
                tell_license(x, h->layers[k].lic, j->want.v[i].count, out);
    }
}
