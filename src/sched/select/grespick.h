/* grespick.h - which devices a job gets on a node */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fit;
struct pick;
struct sched_alloc_gres;
struct sched_alloc_node;

/* GPUs the job gets on the node of those that CPUs, memory or tasks are counted by. */
uint64_t gres_gpus(const struct pick *p, const struct fit *f);
/* Of each row of the node the job gets take[row]; -EAGAIN when that does not come out. */
int gres_choose(const struct pick *p, const struct fit *f, const uint64_t *cpus, uint64_t *take);
/* Where binding is enforced: is every CPU near a device? */
bool gres_covers(const struct pick *p, const struct sched_alloc_node *an);
void gres_fill(const struct pick *p, const struct fit *f, const uint64_t *cpus, uint32_t row,
               uint64_t count, struct sched_alloc_gres *out, uint64_t **words);
