/* accrue.h - how many waiting jobs gain priority by age: GrpJobsAccrue, MaxJobsAccrue and the
 * QOS' like */
#pragma once

#include <stdint.h>

struct sched;

/* Decide which jobs gain priority by age; called at each computation of priorities */
int accrue_refresh(struct sched *s, int64_t now_us);
