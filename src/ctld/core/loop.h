/* loop.h - the core thread's loop */
#pragma once

#include "ctld/ctld.h"

void core_run(struct ctld *ctld); /* until CMD_STOP */
