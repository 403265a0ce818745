/* restrows.c - every path that is served; see restrows.h */
#include "rest/restrows.h"

#include <stddef.h>

#include "rest/restctld.h"
#include "rest/restjobs.h"
#include "rest/restnodes.h"

/* Of two rows that fit a path the first one answers. */
const struct rest_row *const restrows[] = {
    rest_job_rows,
    rest_node_rows,
    rest_ctld_rows,
    NULL,
};
