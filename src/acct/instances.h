/* instances.h - which machines of a cloud nodes ran on, and when; acct/ only
 *
 * A node has a row in `instances` for as long as its instance id, instance type and extra stay the
 * same; a node without id and type has none. */
#pragma once

#include <stdint.h>

#include "acct/sql/sql.h"
#include "node.pb-c.h"

struct instances {
    struct sql_stmt *close, *open; /* they go with the connection */
};

/* A node of source was `before` (NULL: none) and is `now` (NULL: none). */
int instances_note(struct instances *in, struct sql *db, int64_t source,
                   const Pst__NodeRecord *before, const Pst__NodeRecord *now, int64_t time_us);
