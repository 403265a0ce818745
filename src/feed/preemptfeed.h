/* preemptfeed.h - what the configuration says of preemption, as the scheduler's library takes it;
 * pure */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "sched/sched.h"

bool preempt_wanted(const struct conf *conf); /* PreemptType */
bool preempt_by_qos(const struct conf *conf);
void preempt_fill_params(const struct conf *conf, struct sched_preempt *ret);
/* The mode that a PreemptMode says; NULL or "" says SCHED_MODE_DEFAULT: as the cluster. */
enum sched_preempt_mode preempt_mode_of(const char *text);
/* How long a turn is of jobs that share CPUs; 0 = they run beside each other (no GANG in
 * PreemptMode). */
int64_t preempt_slice_us(const struct conf *conf);
/* PreemptMode as shown for a partition whose own mode is `own` (NULL or "": the cluster's counts);
 * NULL = OFF. */
const char *preempt_mode_text(const struct conf *conf, const char *own);
int64_t preempt_exempt_us(const struct conf *conf);
