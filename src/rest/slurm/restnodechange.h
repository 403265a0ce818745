/* restnodechange.h - changes of nodes and partitions: POST nodes/, POST and DELETE node/{},
 * new/node, POST partitions/, DELETE partition/{} */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_node_change_rows[];
