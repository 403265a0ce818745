/* steplaunch.h - the start of jobs and steps */
#pragma once

#include "noded/noded.h"

/* A batch job as the controller sends it.  0: accepted (or known already); errors leave nothing. */
int launch_batch(struct noded *d, Pst__LaunchBatch *msg, struct err *err);
/* Launch a step whose credential was verified; takes srun_fd and both messages in every case. */
void launch_step(struct noded *d, Pst__LaunchStep *launch, Pst__StepCredential *cred, int srun_fd,
                 uint32_t request_id);
/* The connection that carries X programs of a job, its credential verified; parts of cred may be
 * taken, fd stays the caller's. */
void launch_x11(struct noded *d, const Pst__AttachStep *attach, Pst__StepCredential *cred, int fd,
                uint32_t request_id);
/* A queued step, sent by the controller.  The parts it needs are taken from msg.  0: accepted or
 * known. */
int launch_async(struct noded *d, Pst__LaunchStep *msg, struct err *err);
int launch_prepare(struct noded *d, Pst__PrepareJob *msg, struct err *err);
/* A job that ends and ran nothing here, known from now on where there is an Epilog; takes msg->job.
 * NULL: there is nothing to do. */
struct njob *launch_for_epilog(struct noded *d, Pst__TerminateJob *msg);
/* Do the job's prolog and epilog run in its extern step, by the configuration?  The step itself may
 * decide otherwise. */
bool launch_in_job(const struct noded *d, const struct njob *job);
/* The extern step has started, or did not: the prolog and the X11 connection that waited
 * for it go on. */
void launch_waiting_prolog(struct noded *d, struct njob *job);
/* The prolog of job ended: start what waits, or give up. */
void launch_after_prolog(struct noded *d, struct njob *job);
