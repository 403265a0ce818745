/* het.h - heterogeneous jobs: one submission of several components, each a job with resources of its own
 *
 * Component k of the job with leader id L is job L + k.  They are accepted, started, held, released and
 * requeued together; the leader owns the script, and its end is everybody's.  Core thread, but for the
 * questions about one record. */
#pragma once

#include "ctld/ctld.h"
#include "ctld/lifecycle.h"

#define HET_COMPONENTS_MAX 128u

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
static inline struct job *het_component(const struct cluster *c, const Pst__JobRecord *r, uint32_t k)
{
    struct job *j = het_is(r) && k < r->het_count ? cluster_job(c, r->het_job_id + k) : NULL;

    return j && het_is(j->rec) && j->rec->het_job_id == r->het_job_id ? j : NULL;
}
/* The first of n ids in a row that are free, from `from` on; 0 when there is no such row. */
uint32_t het_ids(struct ctld *ctld, uint32_t from, uint32_t n);
/* Make rec component k of n of the job with this leader. */
void het_fill(Pst__JobRecord *rec, uint32_t leader, uint32_t k, uint32_t n);

/* May the scheduler see the group?  From when on: the latest of all components; INT64_MAX while one of them
 * is missing, held, not pending or still cleaning up. */
int64_t het_eligible_at(const struct ctld *ctld, const Pst__JobRecord *r);
/* j, a pending component, changed: the others may become eligible with it, or cease to be. */
void het_feed_others(struct ctld *ctld, const struct job *j);
/* How many of these decisions, which begin with a component, belong to its group. */
size_t het_decisions(const struct ctld *ctld, const struct sched_decision *d, size_t n);

/* After the end of j: what ends with it. */
void het_ended(struct ctld *ctld, uint32_t leader, const struct job_end *end);
/* Have all components ended? */
bool het_all_ended(const struct ctld *ctld, const Pst__JobRecord *r);
/* After recovery: components whose leader has ended without them. */
void het_recover(struct ctld *ctld, struct job *j);
