/* restutil.h - /util/: lists of hosts, which slurmrestd answers by itself */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_util_rows[];
