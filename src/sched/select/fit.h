/* fit.h - how much of a job one node can hold */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fit;
struct geometry;
struct pick;

bool node_fit(const struct pick *p, uint32_t id, struct fit *ret);
/* Units of the node that the job may have, by CPUs, memory and limits; uses s->cpu_words. */
uint32_t node_units(const struct pick *p, uint32_t id, const struct geometry *g);
/* Nodes the job never uses, whatever is free on them. */
bool node_admits(const struct pick *p, uint32_t id, uint32_t *most_tasks); /* raises most_tasks */
