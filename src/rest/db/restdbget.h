/* restdbget.h - GET of accounts, users, associations, QOS, clusters, TRES, wckeys and of all of
 * them at once (/config) */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_dbget_rows[];
