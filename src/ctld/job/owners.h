/* owners.h - the clients that own allocations: salloc and srun
 *
 * A client owns the job that it waits for.  When its connection is gone for MessageTimeout, a job
 * that is pending is cancelled, and a job that asked for it ends once no step of srun runs in it;
 * with InactiveLimit every job of a client that is gone for so long ends then, but for batch jobs.
 * Core thread. */
#pragma once

#include "ctld/ctld.h"

struct owners; /* job id -> connection of its client */

int owners_new(struct owners **ret);          /* -ENOMEM */
struct owners *owners_free(struct owners *o); /* always NULL */

/* The client of this connection owns j from now on. */
void owners_attach(struct ctld *ctld, const struct job *j, uint64_t conn);
/* A connection whose client waited for j is closed. */
void owners_detach(struct ctld *ctld, const struct job *j, uint64_t conn);
/* After recovery: the client of j has MessageTimeout to come back. */
void owners_recover(struct ctld *ctld, const struct job *j);
/* j is about to be forgotten. */
void owners_forget(struct ctld *ctld, const struct job *j);
/* A step of j ended with this status: the job ends with it when its client is gone. */
void owners_step_ended(struct ctld *ctld, struct job *j, uint32_t status);
/* Running jobs whose client has not come back, within InactiveLimit where there is one; twice a
 * second. */
void owners_tick(struct ctld *ctld, int64_t now_us);
/* Pending jobs whose client has not come back; every ten seconds. */
void owners_check_pending(struct ctld *ctld, int64_t now_us);
