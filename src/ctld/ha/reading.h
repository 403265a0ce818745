/* reading.h - a controller that does not lead shows the cluster that it knows
 *
 * A standby shows what it has applied of the log; `penstock journal at` shows a moment of the past.
 * Operations of OPF_SHOWS are answered, by the same handlers and the same rules (PrivateData) as
 * those of the controller that leads; all others are refused.  Main thread, which is the core
 * meanwhile. */
#pragma once

#include <stdint.h>

#include "ctld/ctld.h"

/* ctld->cluster is complete, or another object than before: show it, and follow its changes. */
void reading_show(struct ctld *ctld);
/* The cluster changed up to this record, which is durable. */
void reading_moved(struct ctld *ctld, uint64_t lsn);
/* Answer until then.  False: the controller is to stop. */
bool reading_serve(struct ctld *ctld, int64_t until_mono_us);
/* Show nothing any more: the controller is about to lead, or to end. */
void reading_end(struct ctld *ctld);
