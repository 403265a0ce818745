/* loop.h - the core thread's loop */
#pragma once

#include "ctld/ctld.h"

void core_run(struct ctld *ctld); /* until CMD_STOP */
/* Of a controller that does not lead: answer what needs the cluster alone (OPF_SHOWS), until then.
 * Nothing is committed and no time is counted.  False: CMD_STOP came. */
bool core_run_reading(struct ctld *ctld, int64_t until_mono_us);
