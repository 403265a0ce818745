/* ctldops.c - the controller's operations: who answers them.  Who may ask is in wire/access.def,
 * which the connection compares with each request before it comes here. */
#include "base/cleanup.h"
#include "ctld/ctld.h"

static const struct op_row rows[OP_MAX_] = {
    [OP_PING] = { op_ping, 0 },
    [OP_JOB_SUBMIT] = { op_job_submit, OPF_WRITES },
    [OP_JOB_WAIT] = { op_job_wait, 0 },
    [OP_JOB_ACTION] = { op_job_action, OPF_WRITES },
    [OP_JOB_UPDATE] = { op_job_update, OPF_WRITES },
    [OP_STEP_CREATE] = { op_step_create, OPF_WRITES },
    [OP_ACCT_CHANGES] = { op_acct_changes, OPF_WRITES },
    [OP_QUERY_ASSOCS] = { op_query_assocs, 0 },
    [OP_ACCESS] = { op_access, 0 },
    [OP_CRONTAB_GET] = { op_crontab_get, 0 },
    [OP_CRONTAB_SET] = { op_crontab_set, OPF_WRITES },
    [OP_TRIGGER_SET] = { op_trigger_set, OPF_WRITES },
    [OP_TRIGGER_GET] = { op_trigger_get, 0 },
    [OP_TRIGGER_CLEAR] = { op_trigger_clear, OPF_WRITES },
    [OP_STEPS_WAIT] = { op_steps_wait, 0 },
    [OP_HET_STEP_CREATE] = { op_het_step_create, OPF_WRITES },
    [OP_QUERY_JOBS] = { NULL, OPF_VIEW },
    [OP_QUERY_STEPS] = { NULL, OPF_VIEW },
    [OP_QUERY_NODES] = { NULL, OPF_VIEW },
    [OP_QUERY_PARTITIONS] = { NULL, OPF_VIEW },
    [OP_QUERY_CONFIG] = { op_query_config, 0 },
    [OP_QUERY_DIAG] = { op_query_diag, 0 },
    [OP_QUERY_SCRIPT] = { op_query_script, 0 },
    [OP_ACCT_ADMIN] = { NULL, OPF_FRONT },
    [OP_ACCT_LIST] = { NULL, OPF_FRONT },
    [OP_ACCT_BLOB] = { NULL, OPF_FRONT },
    [OP_QUERY_PRIORITY] = { NULL, OPF_FRONT },
    [OP_QUERY_SHARES] = { op_query_shares, 0 },
    [OP_USAGE_RESET] = { op_usage_reset, OPF_WRITES },
    [OP_QUERY_EXPLAIN] = { op_query_explain, 0 },
    [OP_WATCH] = { NULL, OPF_FRONT },
    [OP_NODE_UPDATE] = { op_node_update, OPF_WRITES },
    [OP_NODE_REBOOT] = { op_node_reboot, OPF_WRITES },
    [OP_RESV_UPDATE] = { op_resv_update, OPF_WRITES },
    [OP_QUERY_RESVS] = { op_query_resvs, 0 },
    [OP_PART_UPDATE] = { op_part_update, OPF_WRITES },
    [OP_RECONFIGURE] = { op_reconfigure, OPF_WRITES },
    [OP_SHUTDOWN] = { op_shutdown, 0 },
    [OP_TOKEN] = { op_token, 0 },
    [OP_DEBUG] = { op_debug, 0 },
    [OP_NODE_REGISTER] = { op_node_register, OPF_WRITES },
    [OP_NODE_REPORT] = { op_node_report, OPF_WRITES },
};

const struct op_row *op_row(unsigned op)
{
    if (op >= ARRAY_SIZE(rows) || (!rows[op].fn && !rows[op].flags))
        return NULL;
    return &rows[op];
}
