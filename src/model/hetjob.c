/* hetjob.c - see hetjob.h */
#include "model/hetjob.h"

#include "base/cleanup.h"

int64_t het_eligible_at(const struct cluster *c, const Pst__JobRecord *r)
{
    int64_t at_us = 0;

    for (uint32_t k = 0; k < r->het_count; k++) {
        const struct job *j = het_component(c, r, k);

        if (!j || !job_is_pending(j->rec) || job_is_held(j->rec) || j->rec->dependency ||
            job_has_flag(j->rec, JOB_FLAG(COMPLETING)))
            return INT64_MAX;
        if (j->rec->has_begin_us)
            at_us = MAX(at_us, j->rec->begin_us);
    }
    return at_us;
}
