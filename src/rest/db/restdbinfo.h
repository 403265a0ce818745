/* restdbinfo.h - GET of the accounting service itself: ping, diag, conf */
#pragma once

#include "rest/restcall.h"

extern const struct rest_row rest_dbinfo_rows[];

/* "12months", "30days", "6hours" or "6", which are months: "PurgeJobAfter" and its kin as an
 * object.  archive: are records of the kind archived before they go? */
void restdbinfo_purge(struct json *js, const char *key, const char *value, bool archive);
