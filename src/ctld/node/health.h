/* health.h - when nodes are to run HealthCheckProgram */
#pragma once

#include "ctld/ctld.h"

/* Core thread; called often. */
void health_tick(struct ctld *ctld, int64_t now_us);
