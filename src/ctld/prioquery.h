/* prioquery.h - what priorities are made of: answers to sprio, gathered by the scheduler's thread */
#pragma once

#include "ctld/front.h"
#include "sched/sched.h"

struct prioquery;

/* Hand the question to the scheduler; on the connection's thread. */
void prioquery_start(struct front *f, struct conn *c, const struct frame *frame);
/* Gather, and answer on the connection's thread; takes q.  On the scheduler's thread. */
void prioquery_gather(struct prioquery *q, struct sched *s, const struct sched_params *params);
/* The scheduler is ending: say so. */
void prioquery_drop(void *arg);
