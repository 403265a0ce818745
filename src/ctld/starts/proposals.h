/* proposals.h - the scheduler's proposals, taken by the core
 *
 * A proposal was made against a model that lags a little: start_holds() checks it against the
 * present state, and the scheduler is told when it is dropped.  Core thread. */
#pragma once

#include "ctld/ctld.h"

struct decisions_msg;

void lifecycle_decisions(struct ctld *ctld, struct decisions_msg *m); /* takes m */
