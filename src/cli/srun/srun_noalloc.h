/* srun_noalloc.h - srun --no-allocate: a step on named nodes, without a job */
#pragma once

#include "cli/srun/srun.h"

/* Exits when it cannot be: no nodes are named, the user is neither root nor SlurmUser, or another
 * option needs a job. */
void srun_noalloc_check(struct srun *s);
/* Ask the controller for the step; s->job_id is the number it goes by.  *ret_reply is the caller's.
 * Exit status, the message printed. */
int srun_noalloc(struct srun *s, Pst__StepSpec *spec, Pst__StepReply **ret_reply);
