/* alloc.h - allocations: copies and comparison */
#pragma once

#include <stdbool.h>

struct sched;
struct sched_alloc;

int alloc_dup(struct sched *s, const struct sched_alloc *from, struct sched_alloc *ret);
/* Without the nodes that are only closed. */
int alloc_dup_used(struct sched *s, const struct sched_alloc *from, struct sched_alloc *ret);
void alloc_drop_closed(struct sched_alloc *a);
bool alloc_has_closed(const struct sched_alloc *a);
void alloc_done(struct sched_alloc *a);
/* Apart from the nodes that are only closed. */
bool alloc_equal(const struct sched_alloc *a, const struct sched_alloc *b);
