/* arraysplit.h - tasks leave the record of their array, for updates and cancels of some of them
 *
 * Core thread.  Each function commits one transaction. */
#pragma once

#include "ctld/job/jobfacts.h"

/* These tasks of the array become a record of their own, still pending: a job when it is one task,
 * else an array.  NULL: the disk is full, or memory short. */
struct job *arraysplit_tasks(struct ctld *ctld, struct job *array, const char *tasks);
/* The same of one task; NULL also when the array does not have it. */
struct job *arraysplit_task(struct ctld *ctld, struct job *array, uint32_t task);
/* Pending tasks are cancelled: they leave the array, which keeps others, without becoming jobs.
 * Gives the lsn, 0 = the disk is full. */
uint64_t arraysplit_drop(struct ctld *ctld, struct job *array, const char *tasks);
/* For verbs that need records of their own: the job, or what `tasks` become.  NULL: disk full. */
struct job *job_ref_own(struct ctld *ctld, const struct job_ref *ref);
