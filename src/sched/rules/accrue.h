/* accrue.h - how many waiting jobs gain priority by age: GrpJobsAccrue, MaxJobsAccrue and the
 * QOS' like */
#pragma once

#include <stdint.h>

struct sched;

/* Who gains priority by age; with each computation of priorities */
int accrue_refresh(struct sched *s, int64_t now_us);
