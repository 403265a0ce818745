/* mcs.h - security labels of jobs (MCSPlugin): which one a job gets, and who sees what has it
 *
 * Selection keeps jobs apart by them (sched_job.label); a node's label is that of its jobs. */
#pragma once

#include "ctld/ctld.h"

/* r->mcs_label is what was asked for, or NULL: set it and r->mcs_select to what the configuration
 * makes of that.  groups: comma list of its user's.  0 or ESLURM_INVALID_MCS_LABEL, with a sentence
 * in *ret_hint. */
int mcs_apply(const struct conf *conf, Pst__JobRecord *r, const char *groups,
              const char **ret_hint);

/* MCSParameters=privatedata: jobs and nodes without a label, or with one of the user's, are seen by
 * him. */
bool mcs_private(const struct conf *conf);
/* fn for each label that counts as his; an arbitrary one (mcs/label) is nobody's but the
 * owner's. */
void mcs_each_label(struct ctld *ctld, const char *user, const char *groups,
                    void (*fn)(void *ctx, const char *label), void *ctx);
