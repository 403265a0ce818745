/* jobgres.h - what a job asks for of devices, and what it says by task
 *
 * submit_gres() of jobfacts.h is here too: names that exist, in counts that can be. */
#pragma once

#include "base/err.h"
#include "job.pb-c.h"

/* Do its counts of GPUs agree?  0 or ESLURM_INVALID_GRES. */
int jobgres_check(const Pst__JobRecord *r);
/* Tasks and nodes that follow from counts of GPUs.  0 or an ESLURM code with the sentence. */
int jobgres_settle(Pst__JobRecord *r, struct err *err);

/* Licences that each task asks for become the job's.  0 or an ESLURM code. */
int jobgres_licenses(Pst__JobRecord *r);
