/* shares.h - usage and shares of associations: kept going, told to the scheduler, shown, set back
 *
 * What is used is in the model (model/use/usage.h); here is what the configuration and the
 * clock do with it.  Core thread unless said otherwise. */
#pragma once

#include "ctld/ctld.h"

/* At start and after a reconfiguration: the half-life in force, PriorityUsageResetPeriod=NOW, and
 * the scheduler is told. */
void shares_configure(struct ctld *ctld);
/* About every second: periods that end, changes of associations, what jobs that ended have used;
 * at least every PriorityCalcPeriod. */
void shares_tick(struct ctld *ctld, int64_t now_us);
/* What an association (with all below it) or a QOS has used is nothing from now on; with neither
 * (0), all of it.  Gives the lsn, 0 when the journal takes nothing. */
uint64_t shares_reset(struct ctld *ctld, uint32_t assoc_id, uint32_t qos_id);
