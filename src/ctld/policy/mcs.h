/* mcs.h - security labels of jobs (MCSPlugin): the label of a job, and the users who see the job
 *
 * Selection keeps jobs of different labels apart (sched_job.label); a node's label is that of its
 * jobs. */
#pragma once

#include "ctld/ctld.h"

/* r->mcs_label is the label that the user asked for, or NULL.  Replace it by the label that the
 * configuration gives the job, and set r->mcs_select.  groups: the groups of the user, with commas
 * between.  0 or ESLURM_INVALID_MCS_LABEL, with a sentence in *ret_hint. */
int mcs_apply(const struct conf *conf, Pst__JobRecord *r, const char *groups,
              const char **ret_hint);

/* MCSParameters=privatedata: a user sees the jobs and nodes that have no label or a label of the
 * user's. */
bool mcs_private(const struct conf *conf);
/* Call fn for each label that counts as a label of this user.  With mcs/label a label is any text:
 * it counts for the job's owner alone, and fn is not called for it. */
void mcs_each_label(struct ctld *ctld, const char *user, const char *groups,
                    void (*fn)(void *ctx, const char *label), void *ctx);
