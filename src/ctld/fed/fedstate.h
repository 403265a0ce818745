/* fedstate.h - changes of the record of a job of the federation
 *
 * An "own job" was submitted to this cluster, which is its origin.  A "sibling" is our copy of a
 * job that was submitted to another cluster.  The "owner" of a job is the cluster that may start
 * it. Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* Own job: the mask of members that may run it now.  A job from a time in which this cluster had
 * another number stays here, because its id may belong to a job of another cluster now. */
uint64_t fedstate_viable(const struct fedset *all, const Pst__JobRecord *r);

/* The functions from here on that give an lsn make one commit; 0: the disk is full, nothing has
 * changed. */

/* Own job: it gets the next version, which has no owner yet; the clusters that may run it are
 * worked out anew. */
uint64_t fedstate_version(struct fed *f, const struct job *j);
/* The cluster `owner` may start the job. */
uint64_t fedstate_owner(struct fed *f, const struct job *j, uint32_t owner);
/* Own job whose owner left the federation and came back with another number: that number, found by
 * the owner's name.  0: the owner has the recorded number, or is no member. */
uint32_t fedstate_renamed(struct fed *f, const Pst__JobRecord *r);
/* Own job: record the new number of its owner. */
uint64_t fedstate_renumber(struct fed *f, const struct job *j, uint32_t number);
/* Own job: record what the cluster `peer` has of it. */
uint64_t fedstate_copy(struct fed *f, const struct job *j, uint32_t peer, const Pst__FedCopy *copy);
/* Sibling: record what its origin was told.  FED_TOLD_RELEASE: this cluster may not start it any
 * more. */
uint64_t fedstate_told(struct fed *f, const struct job *j, Pst__FedTold told);
/* Own job: its owner has started it. */
uint64_t fedstate_started(struct fed *f, const struct job *j);
/* Own job: the owner's run is over, and it is queued again as the next version. */
uint64_t fedstate_requeue(struct fed *f, const struct job *j);
/* Another cluster runs the job: here the job ends as REVOKED. */
uint64_t fedstate_revoke(struct fed *f, struct job *j);
/* What the cluster `peer` has of the job; NULL: the job was never meant for that cluster.  Borrowed
 * from r. */
const Pst__FedCopy *fedstate_copy_of(const Pst__JobRecord *r, uint32_t peer);
