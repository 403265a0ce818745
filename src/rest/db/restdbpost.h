/* restdbpost.h - POST of accounts, users, associations, QOS, clusters, wckeys, TRES, of all of them
 * at once (/config), and of accounts and users with their associations
 *
 * What the body holds is compared with what there is: records that are missing are added, those
 * that differ are changed, all of it in one request of the store. */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_dbpost_rows[];
