/* gangturns.h - jobs that share CPUs run in turns (PreemptMode with GANG)
 *
 * Core thread.  Whose turn it is, is worked out by src/sched/rules/gang.c from the records alone; a
 * change of turns is one transaction.  A job that waits for its turn is SUSPENDED and has `gang`
 * set: it keeps all it holds, its CPUs too. */
#pragma once

#include "ctld/ctld.h"

bool gang_on(const struct conf *conf);
/* From the model's observer: who starts may have to wait, who goes may let others run. */
void gang_job(struct ctld *ctld, const struct job *j, Pst__EventKind kind);
/* Jobs that just started and whose CPUs are in use wait; so do not those whose CPUs are free. */
void gang_settle(struct ctld *ctld);
/* The same when something changed, and the next slice when it is time. */
void gang_tick(struct ctld *ctld, int64_t now_us);
/* At the start and after a reconfiguration: all that run are looked at. */
void gang_recheck(struct ctld *ctld);
/* A job suspended by an operator or by preemption is to go on: when it is its turn. */
uint64_t gang_enter(struct ctld *ctld, struct job *j);
/* A job that waits for its turn is suspended by an operator: it waits for him from now on, and
 * frees its CPUs. */
uint64_t gang_leave(struct ctld *ctld, struct job *j);
