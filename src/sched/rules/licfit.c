/* licfit.c - are a job's licences there, beside what is reserved for others?
 *
 * A job that waits for licences only does not hold up its partition. */
#include "sched/rules/licfit.h"

#include <errno.h>

#include "base/cleanup.h"

#include "sched/rules/advlics.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/planlog.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

uint64_t lic_left(const struct sched *s, uint32_t lic, int64_t end_us)
{
    uint64_t left = license_unused(&s->lics[lic]), kept = adv_lics_kept(s, lic);

    left -= MIN(left, kept);
    for (uint32_t i = 0; i < s->nresvs; i++) {
        const struct resv *r = &s->resvs[i];

        if (r->start_us < end_us && lic < r->nspare_lic)
            left = MIN(left, r->spare_lic[lic]);
    }
    return left;
}

/* Is one of the request there, beside what is reserved before end_us?  Layers are a matter of
 * nodes: selection knows them. */
static bool one_fits(const struct sched *s, const struct job_lic *l, int64_t end_us)
{
    return s->lics[l->id].hres || lic_left(s, l->id, end_us) >= l->count;
}

bool lics_fit(const struct sched *s, const struct job_lics *l, int64_t end_us, uint32_t *ret_which)
{
    for (uint32_t i = 0; i < l->n; i++) {
        bool fits = one_fits(s, &l->v[i], end_us);

        *ret_which = i;
        if (fits && l->any)
            return true;
        if (!fits && !l->any)
            return false;
    }
    return !l->any || !l->n;
}

void lics_await(struct sched *s, const struct job_lics *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        s->lics[l->v[i].id].awaited_walk = s->walk_run;
}

bool lics_awaited(const struct sched *s, const struct job_lics *l)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (s->lics[l->v[i].id].awaited_walk == s->walk_run)
            return true;
    return false;
}

int sched_job_licenses(struct sched *s, uint32_t id, const struct sched_lic_req *licenses, size_t n)
{
    struct job *j = job_find(s, id);
    struct job_lics held = { 0 };
    int r;

    if (!j || j->state < JOB_PROPOSED)
        return -ENOENT;
    r = lics_build(s, licenses, n, false, &held);
    if (r < 0)
        return r;
    adv_take(s, j, false);
    lics_release(s, &j->held);
    lics_free(&j->held);
    j->held = held;
    lics_take(s, &j->held);
    adv_take(s, j, true);
    planlog_other(s);
    s->change++;
    return 0;
}
