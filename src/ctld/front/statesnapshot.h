/* statesnapshot.h - snapshots of the journal from an immutable view, on a thread of their own */
#pragma once

#include "ctld/ctld.h"

/* Start one when the log has grown enough since the last; core thread. */
void snapshot_check(struct ctld *ctld);
/* Start one now (shutdown, tests); waits for it. */
void snapshot_now(struct ctld *ctld);
void snapshot_join(struct ctld *ctld);
