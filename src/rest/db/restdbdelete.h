/* restdbdelete.h - DELETE of accounts, users, associations, QOS, clusters, wckeys */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_dbdelete_rows[];
