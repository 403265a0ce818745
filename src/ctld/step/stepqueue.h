/* stepqueue.h - requests for steps that wait until their job has room
 *
 * First come, first served, in each job; steps of srun --async wait with the others.  steps_retry()
 * serves them.  Core thread. */
#pragma once

#include "ctld/step/stepcreate.h"

/* Does anything wait for room in this job? */
bool steps_queue_waits(struct ctld *ctld, uint32_t job_id);
/* Enter a request of cmd, for spec or over components; cmd NULL: the pending step async_id.  busy:
 * other steps of the job are what it waits for, and its client is to be told so. */
void steps_queue_add(struct ctld *ctld, uint32_t job_id, const struct cmd *cmd, uint32_t async_id,
                     const Pst__StepSpec *spec, const Pst__HetStepRequest *het, bool busy);

/* Make a step over components.  0 with its parts, which steps_answer_components() frees, or an
 * ESLURM code. */
int steps_create_components(struct ctld *ctld, const Pst__HetStepRequest *req, struct conn *conn,
                            struct step_part **ret_parts, uint64_t *ret_lsn);
void steps_answer_components(struct ctld *ctld, const Pst__HetStepRequest *req,
                             const struct cmd *cmd, struct step_part *parts, uint64_t lsn,
                             bool waited);
/* Answer with the step that was made; waited: for other steps to end. */
void steps_answer(struct ctld *ctld, struct job *j, const struct cmd *cmd, struct step *s,
                  uint64_t lsn, bool waited);
