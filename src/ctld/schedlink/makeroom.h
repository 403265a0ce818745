/* makeroom.h - running jobs make room for more important ones
 *
 * Core thread.  The scheduler chooses (src/sched/plan/preempt.c); what happens to a victim is
 * journaled in its record, so that a controller that starts in the middle goes on with it. */
#pragma once

#include "ctld/ctld.h"
#include "feed/preemptfeed.h"
#include "sched/sched.h"

void preempt_decision(struct ctld *ctld, const struct sched_decision *d);
/* For each job that holds resources.  True: its grace is over, or those it was suspended for are
 * gone, and it changed. */
bool preempt_tick(struct ctld *ctld, struct job *j, int64_t now_us);
