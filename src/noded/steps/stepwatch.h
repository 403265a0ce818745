/* stepwatch.h - following step daemons, signals, the end of steps and jobs */
#pragma once

#include "noded/noded.h"

int steps_follow(struct noded *d, struct nstep *step);
void steps_order(struct noded *d, struct njob *job, const Pst__SignalSteps *msg);
/* A step has just started: stop it when its job is suspended. */
void steps_started(struct noded *d, struct nstep *step);
void steps_terminate_job(struct noded *d, struct njob *job, const Pst__TerminateJob *msg);
void steps_ended(struct noded *d, struct nstep *step, Pst__StepEnd *end); /* end is taken */
/* Send the order to end, which waited for the batch step, to the job's other steps. */
void steps_release(struct noded *d, struct njob *job);
void steps_child_exited(struct noded *d, pid_t pid, int status);
void steps_advance_job(struct noded *d, struct njob *job); /* all steps over: epilog, clean */
/* The step's daemon is gone and has reported no end: take the end from the exit file; without one
 * the step counts as killed. */
void steps_lost(struct noded *d, struct nstep *step);
void steps_end_unstarted(struct noded *d, struct nstep *step, const char *why);
