/* fedcopy.h - the origin of a job says that this cluster has it, or has it no more
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* OP_FED_COPY.  May commit. */
void op_fed_copy(struct ctld *ctld, struct cmd *cmd);
