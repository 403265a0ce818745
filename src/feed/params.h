/* params.h - what slurm.conf says to the scheduler, as parameters of the library
 *
 * Pure.  For the controller and the simulator alike. */
#pragma once

#include "base/gres/billweights.h"
#include "conf/conf.h"
#include "sched/sched.h"

/* Scheduling parameters of the configuration in force. */
void feed_fill_params(const struct conf *conf, struct sched_params *ret);
