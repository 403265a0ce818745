/* accrue.h - how many waiting jobs gain priority by age: GrpJobsAccrue, MaxJobsAccrue and the
 * QOS' like */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sched;

bool accrue_limited(const uint64_t *numbers); /* of a level: is one of these limits set? */

/* Decide which jobs gain priority by age; called before each pass.  Costs nothing where no level
 * has such a limit, else looks at each job that waits. */
int accrue_refresh(struct sched *s, int64_t now_us);
