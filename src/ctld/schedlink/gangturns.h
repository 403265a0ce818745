/* gangturns.h - jobs that share CPUs run in turns (PreemptMode with GANG)
 *
 * Core thread.  src/sched/rules/gang.c decides from the records alone which jobs have their turn; a
 * change of turns is one transaction.  A job that waits for its turn is SUSPENDED, its record has
 * `gang` set, and it keeps all that it holds, also its CPUs. */
#pragma once

#include "ctld/ctld.h"

bool gang_on(const struct conf *conf);
/* Called by the model's observer: a job that starts may have to wait, and a job that ends may let
 * others run. */
void gang_job(struct ctld *ctld, const struct job *j, Pst__EventKind kind);
/* Of the jobs that just started, those whose CPUs are in use wait; those with free CPUs run. */
void gang_settle(struct ctld *ctld);
/* gang_settle(), but only when a job has started on CPUs of another since the last call. */
void gang_settle_fresh(struct ctld *ctld);
/* gang_settle() when something has changed; begin the next slice when the present one is over. */
void gang_tick(struct ctld *ctld, int64_t now_us);
/* Look at all running jobs: at the start and after a reconfiguration. */
void gang_recheck(struct ctld *ctld);
/* A job that an operator or preemption had suspended may go on: from now on it waits for its
 * turn. */
uint64_t gang_enter(struct ctld *ctld, struct job *j);
/* An operator suspends a job that waits for its turn: from now on the job waits for the operator to
 * resume it, and frees its CPUs. */
uint64_t gang_leave(struct ctld *ctld, struct job *j);
