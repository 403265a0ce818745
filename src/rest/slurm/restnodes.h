/* restnodes.h - nodes and partitions as they are: GET nodes/, node/{}, partitions/, partition/{} */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_node_rows[];
