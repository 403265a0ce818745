/* powersettings.h - the lists of what is never powered down, as operators change them */
#pragma once

#include "ctld/ctld.h"

/* SuspendExcNodes, -Parts or -States as slurm.conf or an operator has it; NULL or ""
 * is none. */
const char *power_except_text(const struct ctld *ctld, enum conf_key key);
