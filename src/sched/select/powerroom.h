/* powerroom.h - may nodes without power be powered up for a job? (max_powered_nodes)
 *
 * Pure.  Nodes that jobs hold count as powered, since they are on their way up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sched;
struct sched_alloc;

/* Would a start on these nodes power up more nodes than there may be?  `more`: nodes that a start
 * in the same breath powers up, which is counted up (NULL: it is alone). */
bool powerroom_lacks(const struct sched *s, const struct sched_alloc *a, uint32_t *more);
