/* completewait.h - jobs that still clean up hold up the starts of others (CompleteWait)
 *
 * Nodes of a job come free one after the other.  To have them all at once, no job starts while one
 * is COMPLETING, for CompleteWait seconds from its end at most; with
 * SchedulerParameters=reduce_completing_frag none starts in its partition, and in those that share
 * nodes with that.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Does a job that cleans up hold up those of p now? */
bool completewait_pauses(const struct ctld *ctld, const struct partition *p);

/* May completewait_pauses() answer otherwise than when this was asked last? */
bool completewait_moved(struct ctld *ctld);
