/* fedask.h - another cluster asks the origin, which is this one, for a job
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* OP_FED_ASK.  May commit. */
void op_fed_ask(struct ctld *ctld, struct cmd *cmd);
