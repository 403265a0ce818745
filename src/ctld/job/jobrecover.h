/* jobrecover.h - after a restart: who waits for what, and what goes on.  Core thread. */
#pragma once

#include "ctld/ctld.h"

void jobrecover_all(struct ctld *ctld);
