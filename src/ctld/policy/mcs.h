/* mcs.h - security labels of jobs (MCSPlugin): which label a job gets, and which users see it
 *
 * Selection keeps jobs of different labels apart (sched_job.label); a node's label is that of its
 * jobs. */
#pragma once

#include "ctld/ctld.h"

/* r->mcs_label is what was asked for, or NULL: set it and r->mcs_select to what the configuration
 * makes of that.  groups: comma list of its user's.  0 or ESLURM_INVALID_MCS_LABEL, with a sentence
 * in *ret_hint. */
int mcs_apply(const struct conf *conf, Pst__JobRecord *r, const char *groups,
              const char **ret_hint);

/* MCSParameters=privatedata: a user sees the jobs and nodes that have no label or a label of the
 * user's. */
bool mcs_private(const struct conf *conf);
/* Call fn for each label that counts as a label of this user.  With mcs/label a label is any text:
 * it counts for the job's owner alone, and fn is not called for it. */
void mcs_each_label(struct ctld *ctld, const char *user, const char *groups,
                    void (*fn)(void *ctx, const char *label), void *ctx);
