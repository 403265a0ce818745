/* out_stepjobs.h - what step records leave to their job: array task, user name, partition, SLUID
 *
 * Filled from a stream of job records, then asked for each step.  For commands only: out of memory
 * exits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/query/out_query.h"
#include "job.pb-c.h"

/* Record fields that step_jobs_add() reads. */
#define STEP_JOBS_FIELDS                                                                           \
    "job_id array_job_id array_task_id array_tasks het_job_id user_name uid partition "            \
    "sluid"

struct step_job {
    uint32_t job_id, array_job_id, array_task_id;
    uint32_t group_id; /* as job_group_id() */
    bool has_task;
    char *user, *partition, *sluid; /* may be NULL */
};

struct step_jobs {
    struct step_job *items;
    size_t n, cap;
    Pst__StepRecord *batch; /* that waits for the one behind it */
};

void step_jobs_add(struct step_jobs *t, const Pst__JobRecord *job);
void step_jobs_sort(struct step_jobs *t); /* after the last add */
const struct step_job *step_jobs_find(const struct step_jobs *t,
                                      uint32_t job_id); /* NULL = not there */
void step_jobs_done(struct step_jobs *t);

/* Steps of a stream in the order they began: the batch step comes behind the extern step of its
 * job.  fn gets each; step_jobs_last() behind the last one. */
int step_jobs_in_order(struct step_jobs *t, const Pst__StepRecord *step,
                       const struct query_info *info, query_fn *fn, void *ctx);
int step_jobs_last(struct step_jobs *t, const struct query_info *info, query_fn *fn, void *ctx);
