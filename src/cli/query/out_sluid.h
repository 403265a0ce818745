/* out_sluid.h - numbers of jobs that are named otherwise, found out from the controller */
#pragma once

#include "cli/query/out_filter.h"
#include "wire/client.h"

/* Put the job's number (and array task) beside each SLUID of ids; one the controller does not
 * know becomes a number that no job has.  Asks nothing when there is none.  Returns 0 or as
 * query_run(). */
int sluids_find(struct client *client, struct filter_ids *ids);
/* The number of the job that is this task of an array; 0 when there is none, or it is not a job of
 * its own yet.  Returns 0 or as query_run(). */
int sluids_task_job(struct client *client, uint32_t array_id, uint32_t task, uint32_t *ret_job_id);
