/* nicservice.h - the step's services on Slingshot's NICs, and what tasks are told of them */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct step;

/* Start slurmstepd-cxi where the step's file has a plan, wait for its answer while the step is
 * served, and set the SLINGSHOT variables of the tasks.  Errors: step_fail(). */
void nics_start(struct step *s);
/* Have the services been taken away?  The first call, when no process of the step is left, has it
 * done.  A driver that does not answer is waited for no longer than nics_deadline(). */
bool nics_cleaned(struct step *s, int64_t now_mono);
int64_t nics_deadline(const struct step *s); /* 0: none */
/* The child pid was collected: was it slurmstepd-cxi? */
bool nics_reaped(struct step *s, int pid);
