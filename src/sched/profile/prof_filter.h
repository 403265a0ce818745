/* prof_filter.h - candidates for a span of slots, from the bitmaps alone */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bitmap;
struct pick;

/* Keep in mask the nodes with about so many free CPUs (or nothing held) throughout p's span. False,
 * with p->next, when fewer than need are left: no span from before that slot has enough. */
bool prof_filter(struct pick *p, struct bitmap *mask, bool idle, uint64_t cpus, uint32_t need);
/* Tasks that at most max nodes are to hold together: are there enough nodes that are free
 * enough? */
bool prof_filter_sum(struct pick *p, const struct bitmap *mask, uint64_t cpus, uint32_t max);
