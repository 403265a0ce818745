/* advwhy.h - does a job wait because of advance reservations? */
#pragma once

#include <stdint.h>

#include "sched/sched.h"

struct entry;
struct sched;

/* e waits for nodes: because of reservations?  NONE: because of jobs. */
enum sched_why adv_why(struct sched *s, const struct entry *e, int64_t now_us);
