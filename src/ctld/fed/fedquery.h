/* fedquery.h - what scontrol show federation asks for
 *
 * Core thread. */
#pragma once

#include "ctld/fed/fedbook.h"

/* OP_QUERY_FEDERATION. */
void op_query_federation(struct ctld *ctld, struct cmd *cmd);
