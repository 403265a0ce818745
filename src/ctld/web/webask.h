/* webask.h - questions of other threads to the core, answered while they wait */
#pragma once

#include <stddef.h>

struct ctld;

/* Have fn(ctld, answer) run on the core, with `size` zeroed bytes for the answer, and wait for it,
 * WEBASK_MS at most.  Gives the answer, which the caller frees; NULL: the core does not answer in
 * time (fn may still run), stops, or there is no memory.  Any thread but the core's. */
#define WEBASK_MS 2000
void *webask(struct ctld *ctld, size_t size, void (*fn)(struct ctld *ctld, void *answer));
