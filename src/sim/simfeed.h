/* simfeed.h - a scheduler fed with a machine and with what runs on it; pure */
#pragma once

#include "sim/engine.h"

/* Nodes, partitions, topology.  Errors: those of the scheduler. */
int simfeed_machine(struct sched *s, const struct sim_machine *m);
/* One job that holds its nodes. */
int simfeed_running(struct sched *s, const struct workload *w, const struct sim_running *x);
