/* advlics.c - licences that advance reservations keep */
#include "sched/rules/advlics.h"

#include "base/cleanup.h"
#include "sched/rules/adv_data.h"
#include "sched/rules/advset.h"
#include "sched/state/classes.h"
#include "sched/state/endtime.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

void adv_about(struct sched *s, const struct entry *e, int64_t now_us)
{
    if (!s->advs)
        return;
    s->advs->about = e;
    s->advs->about_us = now_us;
}

bool adv_lics_any(const struct sched *s)
{
    const struct advs *a = s->advs;

    for (uint32_t i = 0; a && i < a->n; i++)
        if (a->list[i]->lics.n)
            return true;
    return false;
}

uint64_t adv_lics_kept(const struct sched *s, uint32_t lic)
{
    const struct advs *a = s->advs;

    if (!a || !a->about)
        return 0;
    return adv_lics_kept_in(s, lic, a->about_us,
                            end_after(a->about_us, a->about->job->time_limit_min));
}

uint64_t adv_lics_kept_in(const struct sched *s, uint32_t lic, int64_t from_us, int64_t to_us)
{
    const struct advs *a = s->advs;
    uint64_t sum = 0;
    uint32_t own;

    if (!a || !a->about)
        return 0;
    own = a->about->cls->shape->key.resv;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct advres *r = a->list[i];
        bool meets = r->lics.n && floats_into(r, from_us, to_us);

        for (uint32_t k = 0; r->lics.n && k < r->nwindows && !r->floats; k++)
            meets = meets || (r->windows[k].start_us < to_us && r->windows[k].end_us > from_us);
        for (uint32_t k = 0; meets && r->id != own && k < r->lics.n; k++)
            if (r->lics.v[k].id == lic)
                sum += r->lics.v[k].count - MIN(r->lics.v[k].count, r->used.v[k].count);
    }
    return sum;
}

void adv_take(const struct sched *s, const struct job *j, bool take)
{
    struct advres *own = j->resv ? adv_find(s, j->resv) : NULL;

    for (uint32_t i = 0; own && i < own->used.n; i++)
        for (uint32_t k = 0; k < j->held.n; k++)
            if (own->used.v[i].id == j->held.v[k].id)
                own->used.v[i].count +=
                    take ? j->held.v[k].count : -MIN(j->held.v[k].count, own->used.v[i].count);
}

void sched_job_resv(struct sched *s, uint32_t id, uint32_t resv)
{
    struct job *j = job_find(s, id);

    if (!j || j->state < JOB_PROPOSED || j->resv == resv)
        return;
    adv_take(s, j, false);
    j->resv = resv;
    adv_take(s, j, true);
    s->change++;
}
