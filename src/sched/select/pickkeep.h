/* pickkeep.h - one node for the whole job, where room for segments is kept (topokeep.h) */
#pragma once

#include <stdbool.h>

struct pick;

/* Does SchedulerParameters=keep_segments decide for jobs of one node in this partition? */
bool pick_keeps(const struct pick *p);
/* ... and is one node enough for this job, whichever it is, though it may have more? */
bool pick_keeps_one(const struct pick *p);
/* A node that other jobs use already; else an idle one of the block that loses fewest segments by
 * it; else one in no block.  1 with s->chosen, 0, -ENOMEM. */
int choose_keeping(struct pick *p);
