/* relay.h - the process beside slurmd that passes a step's frames between srun and a piece of its
 * nodes
 *
 * Started by slurmd for OP_RELAY, as the user, with a BcastFile on STEP_FD_FILE and the caller's
 * connection on STEP_FD_SRUN.  It launches its nodes as srun does (wire/fanout.h), itself through
 * relays when they are many, and ends with its caller: the step daemons behind it then see srun go.
 */
#pragma once

#include "stepfile.pb-c.h"

/* Exit status.  fd is taken. */
int relay_serve(const Pst__BcastFile *file, int fd);
