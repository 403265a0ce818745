/* resvadd.h - making a reservation, and what jobs started beside it take from its spare */
#pragma once

#include <stdint.h>

struct job_lics;
struct resv_node;
struct sched;
struct sched_alloc;

/* Reserve; takes alloc and spare on success. */
int resv_add(struct sched *s, uint32_t part, int64_t start_us, struct sched_alloc *alloc,
             struct resv_node **spare, const struct job_lics *want);
/* A job that ends then now holds a: what it left unused beside the reservations is less. */
void resv_charge(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
                 uint32_t part, int64_t end_us);
