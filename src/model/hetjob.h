/* hetjob.h - questions about heterogeneous jobs: components are jobs whose ids follow their
 * leader's */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/cluster.h"
#include "model/job.h"

static inline bool het_is(const Pst__JobRecord *r)
{
    return r->has_het_job_id && r->het_job_id;
}
static inline bool het_is_leader(const Pst__JobRecord *r)
{
    return het_is(r) && r->het_job_id == r->job_id;
}
static inline bool het_is_follower(const Pst__JobRecord *r)
{
    return het_is(r) && r->het_job_id != r->job_id;
}
/* Does the batch script belong to this very job? */
static inline bool het_runs_script(const Pst__JobRecord *r)
{
    return r->has_batch && r->batch && !het_is_follower(r);
}
/* The id that commands take for a whole: of the array, of the leader; 0 = neither. */
static inline uint32_t het_group_id(const Pst__JobRecord *r)
{
    return r->has_array_job_id ? r->array_job_id : het_is(r) ? r->het_job_id : 0;
}

/* Component k of the job that r belongs to; NULL when it is not known any more. */
static inline struct job *het_component(const struct cluster *c, const Pst__JobRecord *r,
                                        uint32_t k)
{
    struct job *j = het_is(r) && k < r->het_count ? cluster_job(c, r->het_job_id + k) : NULL;

    return j && het_is(j->rec) && j->rec->het_job_id == r->het_job_id ? j : NULL;
}
/* May the scheduler see the group?  From when on: the latest of all components; INT64_MAX while one
 * of them is missing, held, not pending or still cleaning up. */
int64_t het_eligible_at(const struct cluster *c, const Pst__JobRecord *r);
