/* jobfacts.h - small questions about jobs and nodes that several parts of the controller ask */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctld/ctld.h"
#include "base/gres/grestext.h"

/* What ClusterRecord.next_job_id becomes after `id`: the number behind it, skipping those in use,
 * wrapping at MaxJobId. */
uint32_t jobs_next_id(const struct ctld *ctld, uint32_t id);
/* The id of the next new job, with the cluster's number in a federation in the bits above it.
 * jobs_use_up_id(): a request for which a place was looked for uses up an id even when it becomes
 * no job, because scripts expect the number that `--test-only` prints to grow. */
uint32_t jobs_fresh_id(const struct ctld *ctld);
void jobs_use_up_id(struct ctld *ctld);
/* How many tasks of the array run. */
uint32_t jobs_array_running(struct ctld *ctld, uint32_t array_job_id);
/* Is the partition one of those that the job named?  The job starts in one of them. */
bool jobs_in_partition(const Pst__JobRecord *r, const char *partition);

/* The nodes of a host list, which the caller frees.  0, or ESLURM_INVALID_NODE_NAME: not a list,
 * of more names than a cluster has nodes, or (with all_known) a name that is no node's;
 * SLURM_ERROR. */
int jobs_nodes_named(const struct cluster *c, const char *list, bool all_known,
                     struct bitmap **ret);

/* What an id text names, e.g. "12", "12_3", "12_[1-3]", "12.0"; jobwalk.h gives all of them. */
struct job_ref {
    struct job *job;
    /* only these, which are still inside the array record `job`; NULL = the job */
    const char *tasks;
    bool has_step;
    uint32_t step;
    bool component; /* named as one of a heterogeneous job: "12+1" */
};
/* Which tasks of its array the reference is about; NULL = it is no array's.  The caller frees. */
char *job_ref_tasks(const struct job_ref *ref);
/* The first job that the text names.  0 or an ESLURM code. */
int jobs_find(struct ctld *ctld, const char *id, struct job_ref *ret);

/* op_submit.c: checks that hold for updates too.  0 or an ESLURM code.
 * May cmd's sender use the partition for this job?  cmd->group_name must be known. */
int submit_lets_in(const struct ctld *ctld, const struct cmd *cmd, const struct partition *p,
                   const Pst__JobRecord *job);

/* Has a list of groups one of AllowGroups? */
bool submit_group_allowed(const char *allow, const char *groups);

/* Is code of submit_lets_in() or policy_partition() nothing against a job that waits until the
 * partition takes its account, QOS and user (EnforcePartLimits=NO)? */
bool submit_may_wait_outside(const struct ctld *ctld, int code);
/* feasible_check() for this configuration.  ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE only with
 * EnforcePartLimits:
 * else *ret_later is set and the job may wait for a larger partition. */
int submit_feasible(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r,
                    bool *ret_later, const char **ret_hint);
/* Nodes that the tasks, or the devices of the whole job, fill at least, when that is more than were
 * asked for; else 0. */
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

/* Numbers of a change that do not go together, or not with those of the job that stay: an ESLURM
 * code, or 0. */
int jobs_check_sizes(const struct cluster *c, const Pst__JobRecord *r, const Pst__JobRecord *set);
/* Keep why it waits now for the record of its start, when that is more than nodes and its turn. */
void jobfacts_note_waiting(struct job *j);
