/* noalloc.h - srun --no-allocate: a step on nodes of which it holds nothing
 *
 * Its job is in no queue and no record: a number from JOB_ID_NO_JOB_MIN on, a run of its own, and
 * the named nodes, whole.  The nodes end it when its step is over.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Answer cmd with what a client needs to launch the step, or refuse it: root and SlurmUser may ask,
 * and the step runs as whoever asks. */
void noalloc_answer(struct ctld *ctld, const struct cmd *cmd, const Pst__StepSpec *spec);
