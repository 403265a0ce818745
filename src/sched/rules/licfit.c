/* licfit.c - are a job's licences there, beside what is reserved for others?
 *
 * A job that waits for licences only does not hold up its partition. */
#include "sched/rules/licfit.h"

#include <errno.h>

#include "sched/rules/advlics.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/planlog.h"
#include "sched/state/resvs.h"
#include "sched/state/sched_obj.h"

/* Is one of the request there, beside what is reserved before end_us? */
static bool one_fits(const struct sched *s, const struct job_lic *l, int64_t end_us)
{
    if (lic_unused(s, l->id) < l->count + adv_lics_kept(s, l->id))
        return false;
    for (uint32_t i = 0; i < s->nresvs; i++) {
        const struct resv *r = &s->resvs[i];

        if (r->start_us < end_us && l->id < r->nspare_lic && r->spare_lic[l->id] < l->count)
            return false;
    }
    return true;
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
