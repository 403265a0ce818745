/* timeline.h - planning: when and where a blocked job will start, and what that leaves for others
 */
#pragma once

#include <stdint.h>

struct pick;
struct resv_node;
struct sched_alloc;

/* The first position in line at which the CPUs of all nodes together are enough; 0 none. */
uint32_t line_first(struct pick *p);
/* The first time at which p's job fits, and what it would hold then.  Reservations count as held
 * for ever. Returns 1, 0 when there is no such time, -ENOMEM. */
int plan(struct pick *p, int64_t now_us, int64_t *ret_start_us, struct sched_alloc *ret_alloc,
         struct resv_node **ret_spare);
