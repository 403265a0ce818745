/* tresfactor.h - the TRES factors: how much of a partition's CPUs, memory, devices a job asks for
 */
#pragma once

#include <stdint.h>

struct entry;
struct node;
struct sched;

double tres_of_node(const struct sched *s, const struct node *n, const char *name);
void tres_totals(struct sched *s); /* of the partitions, when the nodes changed */
double tres_asked(const struct entry *e, const char *name);
double tres_factor(const struct sched *s, const struct entry *e, uint32_t i);
