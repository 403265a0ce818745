/* op_admin.h - what scontrol sets in the running controller until the next reconfigure
 *
 * Log level, DebugFlags and FairShareDampeningFactor.  Core thread. */
#pragma once

#include "ctld/core/service.h"

/* The value in effect of a key of scontrol show config that was set at run time; value when it was
 * not.  Borrowed until the next change. */
const char *tuning_value(const struct ctld *ctld, const char *key, const char *value);
