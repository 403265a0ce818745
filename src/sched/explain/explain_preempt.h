/* explain_preempt.h - which running jobs a waiting job could send away */
#pragma once

#include <stdint.h>

struct entry;
struct explain_preempt;
struct sched;

/* -ENOMEM */
int preempt_explain(struct sched *s, struct entry *e, int64_t now_us, struct explain_preempt *ret);
