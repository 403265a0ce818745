/* watchpick.h - some members of a job's object; pure */
#pragma once

#include "base/strbuf.h"

/* Add an object with those members of `object` (one object of dense JSON, as json_job() writes it)
 * whose names stand in the comma list, in the object's order. */
void watchpick_add(struct strbuf *out, const char *object, const char *fields);
