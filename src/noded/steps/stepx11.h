/* stepx11.h - srun's and salloc's connections for X programs, on their way to a job's extern step
 *
 * The extern step may not run yet: its prolog lasts.  The connection then waits with the job.  Main
 * thread. */
#pragma once

#include "noded/noded.h"

struct njob;

/* A verified request with its connection; fd stays the caller's.  The job asked for X11.
 * One connection waits at most: a newer one takes its place. */
void x11_offer(struct noded *d, struct njob *job, const Pst__AttachStep *attach, int fd,
               uint32_t request_id);
/* The extern step has started, or will not: deal with the connection that waits for it, if any. */
void x11_extern_changed(struct noded *d, struct njob *job);
/* Display and file of the cookie for a step of the job, into sf; without a display nothing.
 * -ENOMEM. */
int x11_fill_step(const struct noded *d, const struct njob *job, Pst__StepFile *sf);
