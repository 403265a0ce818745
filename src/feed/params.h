/* params.h - what slurm.conf says to the scheduler, as parameters of the library
 *
 * Pure.  For the controller and the simulator alike. */
#pragma once

#include "base/gres/billweights.h"
#include "conf/conf.h"
#include "sched/sched.h"

/* Scheduling parameters of the configuration in force. */
void feed_fill_params(const struct conf *conf, struct sched_params *ret);

/* SelectTypeParameters of a partition: false where the text (may be NULL) says nothing. */
bool feed_part_select(const char *text, enum sched_select *ret_select, bool *ret_memory);
/* Does the memory of jobs count in a partition with such a text? */
bool feed_memory_counts(const struct conf *conf, const char *part_text);
