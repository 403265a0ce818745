/* jobrecover.h - after a restart: set up again what each job waits for, and go on with jobs that
 * were starting or ending.  Core thread. */
#pragma once

#include "ctld/ctld.h"

void jobrecover_all(struct ctld *ctld);
