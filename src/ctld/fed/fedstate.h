/* fedstate.h - changes of the record of a job of the federation
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* Which members may run this job of the own cluster as things are.  One from a time in which this
 * cluster had another number stays here: its id may be another's there. */
uint64_t fedstate_viable(const struct fedset *all, const Pst__JobRecord *r);

/* Each is one commit and gives its lsn; 0: the disk is full, nothing changed. */

/* Own job: the next version, which no cluster may start yet; viable clusters are looked at anew. */
uint64_t fedstate_version(struct fed *f, const struct job *j);
/* That cluster may start it. */
uint64_t fedstate_owner(struct fed *f, const struct job *j, uint32_t owner);
/* The number that the owner of an own job has by now, by its name: it left, and came back under
 * another.  0: it has the recorded one, or is no member. */
uint32_t fedstate_renamed(struct fed *f, const Pst__JobRecord *r);
/* Own job: its owner has this number now. */
uint64_t fedstate_renumber(struct fed *f, const struct job *j, uint32_t number);
/* Own job: what the peer has of it. */
uint64_t fedstate_copy(struct fed *f, const struct job *j, uint32_t peer, const Pst__FedCopy *copy);
/* Of a sibling: what its origin was told; FED_TOLD_RELEASE: the right to start is over. */
uint64_t fedstate_told(struct fed *f, const struct job *j, Pst__FedTold told);
/* Own job: its owner runs it. */
uint64_t fedstate_started(struct fed *f, const struct job *j);
/* Own job: the owner's run is over, and it is queued again as the next version. */
uint64_t fedstate_requeue(struct fed *f, const struct job *j);
/* Another cluster has it: it ends here as REVOKED. */
uint64_t fedstate_revoke(struct fed *f, struct job *j);
/* NULL: the peer was never to have it.  Borrowed of r. */
const Pst__FedCopy *fedstate_copy_of(const Pst__JobRecord *r, uint32_t peer);
