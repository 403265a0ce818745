/* saypart.h - why a job waits in a partition, and for licenses (private to this room) */
#pragma once

#include "ctld/starts/explainmade.h"

/* Add the figures of the partition to the reply, and sentences: nodes and what keeps them, who
 * holds them, what it may preempt, when it is expected to start. */
void say_partition(struct explain_made *m, const struct explain_part *x);
/* The licenses that it waits for, and who holds them. */
void say_licenses(struct explain_made *m, const struct sched_explanation *x);
