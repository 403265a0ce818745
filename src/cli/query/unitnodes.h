/* unitnodes.h - functions in a list of nodes that a command shows: block{b1}, switchwith{cn7} */
#pragma once

#include "api.pb-c.h"

/* The nodes of one function, as the reply of OP_QUERY_TOPOLOGY has them; NULL: it is none of this
 * kind of topology, or its unit is not there.  Pure. */
const char *unit_nodes_of(const Pst__TopologyReply *t, const char *item);
