/* restdbinfo.h - GET of the accounting service itself: ping, diag, conf */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_dbinfo_rows[];
