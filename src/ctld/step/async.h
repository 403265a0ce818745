/* async.h - queued steps: srun --async and swait.  Core thread.
 *
 * A queued step is a record in state PENDING with its request; its turn comes in stepqueue.c.  The
 * launch request stays in the record until a node has confirmed the launch, so that a
 * controller that dies in between sends it again. */
#pragma once

#include "ctld/ctld.h"

/* srun --async: a step id now, the launch when the job has room. */
void async_submit(struct ctld *ctld, const struct cmd *cmd, struct job *j,
                  const Pst__StepCreateRequest *req);
/* What a started step keeps of its queued record. */
void async_keep(Pst__StepRecord *rec, const Pst__StepRecord *queued);
/* Send the launch of a step that has its resources now; after lsn. */
void async_launch(struct ctld *ctld, struct job *j, struct step *s, uint64_t lsn);
void async_launch_on(struct ctld *ctld, struct job *j, struct step *s, const struct node *n,
                     uint64_t lsn);
/* A node confirmed a launch: the request is not needed any more. */
void async_launched(struct ctld *ctld, const struct node *n, const Pst__RunningStep *run);
/* Has this node still to say that it launched its part of s? */
bool async_awaits(const struct step *s, uint32_t node_id);
/* A pending step ends without having run; uid: the user that cancelled it, NULL = no user did. */
uint64_t async_end_pending(struct ctld *ctld, struct job *j, uint32_t step_id, const uid_t *uid);
void async_close(Pst__Transaction *tx, const struct step *s, const uid_t *uid);
/* After recovery: pending steps queue up again. */
void async_recover(struct ctld *ctld, struct job *j);
/* Something of j ended: answer swait when nothing is left. */
void async_drained(struct ctld *ctld, struct job *j);
