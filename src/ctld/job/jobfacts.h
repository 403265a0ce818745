/* jobfacts.h - small questions about jobs and nodes that several parts of the controller ask */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctld/ctld.h"
#include "base/gres/grestext.h"

/* The value of ClusterRecord.next_job_id after `id` was given to a job: the next number that no job
 * has.  After MaxJobId comes FirstJobId. */
uint32_t jobs_next_id(const struct ctld *ctld, uint32_t id);
/* The id of the next new job.  In a federation the bits above the number have the number of the
 * cluster.
 * jobs_use_up_id(): a request for which nodes were looked for uses up an id even when no job is
 * made, because scripts expect that the number which `--test-only` prints grows. */
uint32_t jobs_fresh_id(const struct ctld *ctld);
void jobs_use_up_id(struct ctld *ctld);
/* How many tasks of the array run. */
uint32_t jobs_array_running(struct ctld *ctld, uint32_t array_job_id);
/* Is the partition in the list of partitions that the job asked for? */
bool jobs_in_partition(const Pst__JobRecord *r, const char *partition);

/* A comma between the features that a job asks for is an &, and is shown as one. */
void jobs_join_features(Pst__JobRecord *r);

/* The nodes of a host list, as a bitmap that the caller frees.  0; ESLURM_INVALID_NODE_NAME: the
 * text is no list, has more names than a cluster can have nodes, or (with all_known) has a name
 * that no node has; SLURM_ERROR: no memory. */
int jobs_nodes_named(const struct cluster *c, const char *list, bool all_known,
                     struct bitmap **ret);

/* The job that a text like "12", "12_3", "12_[1-3]" or "12.0" names.  When a text names several
 * jobs, jobwalk.h finds all. */
struct job_ref {
    struct job *job;
    /* only these tasks, which still are part of the array record `job`; NULL: the whole job */
    const char *tasks;
    bool has_step;
    uint32_t step;
    bool component; /* the text named a component of a heterogeneous job: "12+1" */
};
/* The tasks of an array that the reference means; NULL: the job is part of no array.  The caller
 * frees. */
char *job_ref_tasks(const struct job_ref *ref);
/* The first job that the text names.  0 or an ESLURM code. */
int jobs_find(struct ctld *ctld, const char *id, struct job_ref *ret);

/* op_submit.c: checks that hold for updates too.  0 or an ESLURM code.
 * May cmd's sender use the partition for this job?  cmd->group_name must be known. */
int submit_lets_in(const struct ctld *ctld, const struct cmd *cmd, const struct partition *p,
                   const Pst__JobRecord *job);

/* Is one of `groups` in `allow`, the AllowGroups of a partition?  Both have commas between. */
bool submit_group_allowed(const char *allow, const char *groups);

/* submit_lets_in() or policy_partition() gave this code.  May the job wait all the same, until the
 * partition takes its account, QOS and user (EnforcePartLimits=NO)? */
bool submit_may_wait_outside(const struct ctld *ctld, int code);
/* feasible_check(), and what EnforcePartLimits makes of the answer: a job that the partition is too
 * small for is refused (ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE), or *ret_later is set and the job
 * may wait for a larger partition. */
int submit_feasible(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r,
                    bool *ret_later, const char **ret_hint);
/* The least number of nodes on which the tasks of the job, or its devices, have room.  0: the job
 * asked for as many nodes, or more. */
uint32_t submit_least_nodes(const struct ctld *ctld, const struct partition *p,
                            const Pst__JobRecord *r);
int submit_sizes(const Pst__JobRecord *r);
int submit_gres(const struct ctld *ctld, const Pst__JobRecord *r);

/* Jobs of a crontab: check one as cmd's user would submit it (takes req->job), put it into a
 * transaction, release it. */
struct submission;
int submit_cron_check(struct ctld *ctld, struct cmd *cmd, Pst__SubmitRequest *req,
                      struct contents *contents, const char *spec, struct submission **ret,
                      struct err *err);
void submit_cron_put(struct submission *s, Pst__Transaction *tx, uint32_t job_id);
void submit_cron_free(struct submission *s);

/* Do the numbers of the change `set` go together with one another, and with the numbers of the job
 * that stay?  0 or an ESLURM code. */
int jobs_check_sizes(const struct cluster *c, const Pst__JobRecord *r, const Pst__JobRecord *set);
/* The record of the start will say why the job waited.  Keep the present reason for that record,
 * unless the job only waits for nodes or for its turn. */
void jobfacts_note_waiting(struct job *j);
