/* restrows.c - every path that is served; see restrows.h */
#include "rest/restrows.h"

#include <stddef.h>

#include "rest/restctld.h"
#include "rest/restfigures.h"
#include "rest/restjobs.h"
#include "rest/restnodechange.h"
#include "rest/restnodes.h"
#include "rest/restresvchange.h"

/* Of two rows that fit a path the first one answers. */
/* clang-format off: a line each */
const struct rest_row *const restrows[] = {
    rest_job_rows,         rest_node_rows,        rest_ctld_rows, rest_figure_rows,
    rest_node_change_rows, rest_resv_change_rows, NULL,
};
/* clang-format on */
