/* restrows.h - every path that is served: the tables of the groups */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row *const restrows[]; /* NULL ends them */
