/* steps.h - steps of srun inside an allocation: their making, their credentials, requests that wait
 * for room, and their ends.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Make the step that a client asked for together with the allocation of j.  *ret_reply: what the
 * client needs to launch the step, freed with steps_reply_free(); NULL: the step cannot be made.
 * Gives the lsn; 0: nothing was committed. */
uint64_t steps_create_granted(struct ctld *ctld, struct job *j, const Pst__StepSpec *spec,
                              struct conn *conn, Pst__StepReply **ret_reply);
/* What srun needs to launch s; freed with steps_reply_free().  NULL: the controller cannot sign. */
Pst__StepReply *steps_reply_new(struct ctld *ctld, const struct job *j, const struct step *s);
void steps_reply_free(Pst__StepReply *reply);
/* Put into the reply, beside the credential, the key with which the client proves to slurmd that
 * the credential was given to that client. */
void steps_add_key(const struct ctld *ctld, Pst__StepReply *reply);
/* Addresses of an allocation's nodes, in order; caller frees each and the array. */
size_t steps_node_addrs(struct ctld *ctld, const Pst__Alloc *alloc,
                        const Pst__SignedCredential *cred, Pst__NodeAddr ***ret);
/* A credential for s or, with s NULL, for the whole job, signed by the controller.  The caller
 * frees.  NULL: the controller cannot sign. */
Pst__SignedCredential *steps_sign(struct ctld *ctld, const struct job *j, const struct step *s,
                                  Pst__CredPurpose purpose);
/* Copy what a request says of a step into its record; the layout is made elsewhere.  peer may be
 * NULL. */
void steps_fill(Pst__StepRecord *rec, const struct job *j, const Pst__StepSpec *spec,
                const struct peer *peer);
/* Queue a step of srun --async behind the steps that wait; steps_retry() starts it. */
void steps_queue_async(struct ctld *ctld, struct job *j, uint32_t step_id,
                       const Pst__StepSpec *spec);
/* End a step that was launched on no node, although its record says that it runs.  Gives the lsn;
 * 0: the journal refuses. */
uint64_t steps_unlaunched(struct ctld *ctld, struct job *j, uint32_t step_id, uint32_t status);
/* The step has ended on one of its nodes. */
uint64_t steps_ended(struct ctld *ctld, struct job *j, struct step *s, uint32_t node_id,
                     const Pst__StepEnd *end);
/* Try requests for steps again that wait for resources of this job; refuse them if the job
 * ended. */
void steps_retry(struct ctld *ctld, struct job *j);
/* From now on s counts as running until each of its nodes has said that s has ended there. */
void steps_await(struct step *s);
/* After recovery: running steps wait for all their nodes again. */
void steps_recover(struct ctld *ctld, struct job *j);
