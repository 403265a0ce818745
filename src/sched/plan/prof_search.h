/* prof_search.h - the first slot of the profile at which a job fits */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_lics;
struct pick;
struct sched_alloc;

/* Ask node_fit() about one span. */
void prof_span(struct pick *p, uint32_t from, uint32_t minutes);
/* The first slot from `first` on where p's job fits, and what it would hold: 1, 0 when there is
 * none, -ENOMEM.  p->from and p->until say which.  only: no other slot than first. */
int prof_search(struct pick *p, const struct job_lics *want, uint32_t minutes, uint32_t first,
                bool only, struct sched_alloc *ret_alloc);
