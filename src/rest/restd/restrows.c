/* restrows.c - every path that is served; see restrows.h */
#include "rest/restd/restrows.h"

#include <stddef.h>

#include "rest/db/restdbdelete.h"
#include "rest/db/restdbget.h"
#include "rest/db/restdbinfo.h"
#include "rest/db/restdbjobs.h"
#include "rest/db/restdbpost.h"
#include "rest/slurm/restbatch.h"
#include "rest/slurm/restconf.h"
#include "rest/slurm/restctld.h"
#include "rest/slurm/restfigures.h"
#include "rest/slurm/restjobchange.h"
#include "rest/slurm/restjobs.h"
#include "rest/slurm/restnodechange.h"
#include "rest/slurm/restnodes.h"
#include "rest/slurm/restoutput.h"
#include "rest/slurm/restplan.h"
#include "rest/slurm/restresources.h"
#include "rest/slurm/restresvchange.h"
#include "rest/slurm/restsignin.h"
#include "rest/slurm/restsubmit.h"
#include "rest/slurm/resttopology.h"
#include "rest/slurm/restutil.h"

/* Of two rows that fit a path the first one answers. */
/* clang-format off */
const struct rest_row *const restrows[] = {
    rest_job_rows,
    rest_submit_rows,
    rest_batch_rows,
    rest_plan_rows,
    rest_output_rows,
    rest_job_change_rows,
    rest_node_rows,
    rest_ctld_rows,
    rest_figure_rows,
    rest_conf_rows,
    rest_util_rows,
    rest_node_change_rows,
    rest_resv_change_rows,
    rest_resource_rows,
    rest_topology_rows,
    rest_signin_rows,
    rest_dbdelete_rows,
    rest_dbget_rows,
    rest_dbinfo_rows,
    rest_dbjobs_rows,
    rest_dbpost_rows,
    NULL,
};
/* clang-format on */
