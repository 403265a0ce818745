/* diag.h - the figures of the controller, for sdiag and for metrics */
#pragma once

#include "ctld/ctld.h"

/* Set the figures of r: not those of operations and users, which would need memory.  Core
 * thread. */
void diag_fill(struct ctld *ctld, bool reset, Pst__DiagReply *r);
