/* steps.h - steps of srun inside an allocation: layout, credentials, waiting, ends.  Core
 * thread. */
#pragma once

#include "ctld/ctld.h"

/* Create a step in the grant of its job; *ret_reply is owned by the caller (steps_reply_free),
 * NULL when it is impossible.  Gives the lsn (0 = none). */
uint64_t steps_create_granted(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                              struct conn *conn, Pst__StepReply **ret_reply);
/* What srun needs to launch s; freed with steps_reply_free().  NULL: it cannot sign. */
Pst__StepReply *steps_reply_new(struct ctld *ctld, const struct job *j, const struct step *s);
void steps_reply_free(Pst__StepReply *reply);
/* Beside its credential, the key by which the requester proves to slurmd that the credential is
 * his. */
void steps_add_key(const struct ctld *ctld, Pst__StepReply *reply);
/* Addresses of an allocation's nodes, in order; caller frees each and the array. */
size_t steps_node_addrs(struct ctld *ctld, const Pst__Alloc *alloc,
                        const Pst__SignedCredential *cred, Pst__NodeAddr ***ret);
/* Signed by the controller; s may be NULL for the whole job.  The caller frees.  NULL: it cannot
 * sign. */
Pst__SignedCredential *steps_sign(struct ctld *ctld, const struct job *j, const struct step *s,
                                  Pst__CredPurpose purpose);
/* What a request says of a step, but for its layout; peer may be NULL. */
void steps_fill(Pst__StepRecord *rec, const struct job *j, const Pst__StepSpec *spec,
                const struct peer *peer);
/* Put a step of srun --async into the queue behind the steps that wait; steps_retry() starts it. */
void steps_queue_async(struct ctld *ctld, struct job *j, uint32_t step_id,
                       const Pst__StepSpec *spec);
/* A step that runs by its record and was launched nowhere is over, on all its nodes.  The lsn; 0:
 * the journal refuses. */
uint64_t steps_unlaunched(struct ctld *ctld, struct job *j, uint32_t step_id, uint32_t status);
/* One node's part of a step is over. */
uint64_t steps_ended(struct ctld *ctld, struct job *j, struct step *s, uint32_t node_id,
                     const Pst__StepEnd *end);
/* Requests that wait for resources of this job: try again, or refuse them when it ended. */
void steps_retry(struct ctld *ctld, struct job *j);
/* s runs until each of its nodes has said that it ended there. */
void steps_await(struct step *s);
/* After recovery: running steps wait for all their nodes again. */
void steps_recover(struct ctld *ctld, struct job *j);
