/* prof_hold.h - holding what a job gets throughout a span of slots */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hold;
struct job;
struct job_lics;
struct sched;
struct sched_alloc;

/* Hold it in the steps alone, not in the bitmaps. */
int prof_steps_hold(struct sched *s, const struct hold *h, uint32_t from, uint32_t until);
/* Hold what a job gets.  -ENOMEM: part of it may be held, the profile is to be dropped. */
int prof_hold(struct sched *s, const struct sched_alloc *a, const struct job_lics *lics,
              const struct job *j, uint32_t part, bool firm, uint32_t from, uint32_t until);
/* How far beyond until can a be held from `from` on?  At most most. */
uint32_t prof_stretch(const struct sched *s, const struct sched_alloc *a, uint32_t part,
                      uint32_t until, uint32_t most);
