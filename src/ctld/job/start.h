/* start.h - jobs start as the scheduler proposed.  Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "sched/sched.h"

/* Does what the proposal needs still hold?  j may be NULL: the job has gone. */
bool start_holds(struct ctld *ctld, const struct job *j, const struct sched_decision *d);
/* Start the n jobs of these decisions, all of them in one transaction; pass: the number of the
 * scheduler's pass.  False: the journal refused, nothing changed. */
bool start_jobs(struct ctld *ctld, uint64_t pass, const struct sched_decision *d, size_t n);
