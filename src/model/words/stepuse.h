/* stepuse.h - what a step used: adding up what its nodes say
 *
 * Pure. */
#pragma once

#include "job.pb-c.h"

/* The sum of two parts of a step (either may be NULL); extremes keep their node and task.  Caller
 * frees with pst__step_usage__free_unpacked().  NULL: out of memory. */
Pst__StepUsage *stepuse_sum(const Pst__StepUsage *a, const Pst__StepUsage *b);
/* NULL: not measured. */
const Pst__TaskUse *stepuse_find(const Pst__StepUsage *u, Pst__UseKind kind);
