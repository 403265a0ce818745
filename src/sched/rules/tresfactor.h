/* tresfactor.h - the TRES factors: how much of a partition's CPUs, memory, devices a job asks for
 */
#pragma once

#include <stdint.h>

struct entry;
struct node;
struct sched;

/* Names are "cpu", "node", "mem" (MiB), "gres/NAME" and "gres/NAME:TYPE"; of others there is 0. */
double tres_of_node(const struct sched *s, const struct node *n, const char *name);
void tres_totals(struct sched *s); /* of the partitions, when the nodes changed */
double tres_asked(const struct entry *e, const char *name); /* by the request, in all */
/* How much e asks for of the i-th TRES with a weight, as a part of its partition's; at most 1.
 * With SCHED_PRIO_NO_NORMAL_TRES the amount itself. */
double tres_factor(const struct sched *s, const struct entry *e, uint32_t i);
