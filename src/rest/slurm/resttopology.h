/* resttopology.h - which nodes are near each other: GET /penstock/v1/topology */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_topology_rows[];
