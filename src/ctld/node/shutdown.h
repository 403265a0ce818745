/* shutdown.h - the end of controller and nodes: scontrol shutdown
 *
 * A node hears of the end on its own connection, and just after a start of the controller, or
 * when a connection broke, it has none.  So the controller goes on for a moment: a node that
 * registers meanwhile is told then, and a node that was told is seen to leave.  Those that never
 * came are named in the answer.  Core thread. */
#pragma once

#include "base/timefmt.h"

#define SHUTDOWN_PATIENCE_US (3 * USEC_PER_SEC) /* slurmd dials again within a second */
