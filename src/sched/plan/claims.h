/* claims.h - a preemptor holds its layout beside its victims until they have gone */
#pragma once

#include <stdint.h>

struct choice;
struct job_lics;
struct psearch;
struct sched;
struct sched_decisions;

/* e holds its layout from now on and tells which jobs it waits for. */
int claim_make(struct psearch *x, struct choice *c, struct job_lics *held,
               struct sched_decisions *out);
/* start whose victims are gone */
int claims_settle(struct sched *s, int64_t now_us, struct sched_decisions *out);
