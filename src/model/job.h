/* job.h - questions about one job record; no state, no allocation */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job.pb-c.h"

#define JOB_TEXT_TIME_LIMIT "DUE TO TIME LIMIT" /* why a job or step is ended, as it is told */
#define JOB_FLAG(x) (1u << PST__JOB_FLAG__JOB_FLAG_##x)
#define JOB_STATE(x) PST__JOB_STATE__JOB_##x
#define EXCLUSIVE_NODE 1 /* JobRecord.exclusive */
#define EXCLUSIVE_USER 2
#define EXCLUSIVE_MCS 3
#define EXCLUSIVE_TOPO 4

static inline Pst__JobState job_state(const Pst__JobRecord *r)
{
    return r->has_state ? r->state : JOB_STATE(PENDING);
}
static inline bool job_has_flag(const Pst__JobRecord *r, uint32_t flag)
{
    return r->has_state_flags && (r->state_flags & flag);
}
static inline bool job_is_pending(const Pst__JobRecord *r)
{
    return job_state(r) == JOB_STATE(PENDING);
}
static inline bool job_is_running(const Pst__JobRecord *r)
{
    return job_state(r) == JOB_STATE(RUNNING);
}
static inline bool job_is_suspended(const Pst__JobRecord *r)
{
    return job_state(r) == JOB_STATE(SUSPENDED);
}
static inline bool job_is_ended(const Pst__JobRecord *r)
{
    return job_state(r) > JOB_STATE(SUSPENDED);
}
/* Suspended because others that share its CPUs have their turn (gang scheduling). */
static inline bool job_waits_for_turn(const Pst__JobRecord *r)
{
    return job_is_suspended(r) && r->has_gang && r->gang;
}
/* Can it run once more: a batch job whose user allows that? */
static inline bool job_can_requeue(const Pst__JobRecord *r)
{
    return r->has_batch && r->batch && r->has_requeue && r->requeue;
}
/* It claims resources, and this cluster starts nothing of it. */
static inline bool job_is_external(const Pst__JobRecord *r)
{
    return r->has_external && r->external;
}
/* When it has ended, what it started may still run: its nodes are kept until that is known. */
static inline bool job_keeps_nodes(const Pst__JobRecord *r)
{
    return job_is_external(r) && r->has_keeps_nodes && r->keeps_nodes;
}
/* Its allocation still counts against the nodes. */
static inline bool job_holds_resources(const Pst__JobRecord *r)
{
    return r->alloc && !job_is_pending(r) && !(r->has_released && r->released);
}
static inline bool job_is_held(const Pst__JobRecord *r)
{
    return r->has_priority && r->priority == 0;
}
/* Its run is over, and once its nodes are clean it waits in the queue again. */
static inline bool job_comes_back(const Pst__JobRecord *r)
{
    return job_is_ended(r) && job_has_flag(r, JOB_FLAG(REQUEUED));
}
static inline bool job_is_array(const Pst__JobRecord *r)
{
    return r->array_tasks != NULL;
}
static inline uint32_t job_restarts(const Pst__JobRecord *r)
{
    return r->has_restart_count ? r->restart_count : 0;
}
/* It waits, and nothing but its record tells of it: a batch job without ties to other jobs, to a
 * client or to a crontab, which no end or start has touched. */
static inline bool job_only_waits(const Pst__JobRecord *r)
{
    return job_is_pending(r) && r->has_batch && r->batch && !r->state_flags &&
           !r->kill_on_client_loss && !r->external && !r->dependency && !r->het_job_id &&
           !r->cron_spec && !r->alloc;
}
