/* timers.h - what time does to the cluster: limits, warnings, lost nodes, old records, snapshots */
#pragma once

#include "ctld/ctld.h"

#define TIMERS_PERIOD_US 500000

void timers_run(struct ctld *ctld); /* core thread, about every TIMERS_PERIOD_US */
