/* start.h - jobs start as the scheduler proposed.  Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "ctld/starts/startrecord.h"
#include "sched/sched.h"

/* Does what the proposal needs still hold?  j may be NULL: the job has gone. */
bool start_holds(struct ctld *ctld, const struct job *j, const struct sched_decision *d);
/* Start the n jobs of these decisions, which this pass of the scheduler proposed, all of them in
 * one transaction.  False: the journal refused, nothing changed. */
bool start_jobs(struct ctld *ctld, const struct start_pass *pass, const struct sched_decision *d,
                size_t n);
