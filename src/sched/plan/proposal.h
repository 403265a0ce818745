/* proposal.h - a job is proposed to start, or the proposal is refused */
#pragma once

#include <stdint.h>

struct entry;
struct pick;
struct sched_alloc;
struct sched_decisions;

/* Propose to start e on alloc, which is handed over on success. */
int decide_start(struct pick *p, struct entry *e, struct sched_alloc *alloc, int64_t now_us,
                 uint32_t limit_min, struct sched_decisions *out);
