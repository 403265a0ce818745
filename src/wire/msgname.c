/* msgname.c - see msgname.h */
#include "wire/msgname.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/ops.h"

struct row {
    unsigned op;
    const char *name;
    unsigned number; /* 0: not known; the operation's own, which is below all of those */
};

/* Where one operation stands for several requests there, the most frequent one names it: job-action
 * also holds, suspends and requeues; reservation-update also creates and deletes. */
static const struct row controller[] = {
    { OP_ACCT_CHANGES, "ACCOUNTING_UPDATE_MSG", 10001 },
    { OP_CONF_FETCH, "REQUEST_CONFIG", 0 },
    { OP_CRONTAB_GET, "REQUEST_CRONTAB", 0 },
    { OP_CRONTAB_SET, "REQUEST_UPDATE_CRONTAB", 0 },
    { OP_DEBUG, "REQUEST_SET_DEBUG_LEVEL", 0 },
    { OP_JOB_ACTION, "REQUEST_KILL_JOB", 5032 },
    { OP_JOB_SUBMIT, "REQUEST_SUBMIT_BATCH_JOB", 4003 },
    { OP_JOB_UPDATE, "REQUEST_UPDATE_JOB", 3001 },
    { OP_NODE_CREATE, "REQUEST_CREATE_NODE", 0 },
    { OP_NODE_DELETE, "REQUEST_DELETE_NODE", 0 },
    { OP_NODE_REBOOT, "REQUEST_REBOOT_NODES", 0 },
    { OP_NODE_REGISTER, "MESSAGE_NODE_REGISTRATION_STATUS", 1002 },
    { OP_NODE_UPDATE, "REQUEST_UPDATE_NODE", 3002 },
    { OP_PART_UPDATE, "REQUEST_UPDATE_PARTITION", 3005 },
    { OP_PING, "REQUEST_PING", 1008 },
    { OP_QUERY_ASSOCS, "REQUEST_ASSOC_MGR_INFO", 0 },
    { OP_QUERY_CONFIG, "REQUEST_BUILD_INFO", 2001 },
    { OP_QUERY_DIAG, "REQUEST_STATS_INFO", 2035 },
    { OP_QUERY_FEDERATION, "REQUEST_FED_INFO", 2049 },
    { OP_QUERY_JOBS, "REQUEST_JOB_INFO", 2003 },
    { OP_QUERY_NODES, "REQUEST_NODE_INFO", 2007 },
    { OP_QUERY_PARTITIONS, "REQUEST_PARTITION_INFO", 2009 },
    { OP_QUERY_PRIORITY, "REQUEST_PRIORITY_FACTORS", 2026 },
    { OP_QUERY_RESVS, "REQUEST_RESERVATION_INFO", 2024 },
    { OP_QUERY_SCRIPT, "REQUEST_BATCH_SCRIPT", 0 },
    { OP_QUERY_SHARES, "REQUEST_SHARE_INFO", 2022 },
    { OP_QUERY_STEPS, "REQUEST_JOB_STEP_INFO", 2005 },
    { OP_QUERY_TOPOLOGY, "REQUEST_TOPO_INFO", 0 },
    { OP_RECONFIGURE, "REQUEST_RECONFIGURE", 1003 },
    { OP_RESV_UPDATE, "REQUEST_UPDATE_RESERVATION", 3009 },
    { OP_SHUTDOWN, "REQUEST_SHUTDOWN", 1005 },
    { OP_STEP_CREATE, "REQUEST_JOB_STEP_CREATE", 5001 },
    { OP_TAKEOVER, "REQUEST_TAKEOVER", 1012 },
    { OP_TOKEN, "REQUEST_AUTH_TOKEN", 0 },
    { OP_TRIGGER_CLEAR, "REQUEST_TRIGGER_CLEAR", 2019 },
    { OP_TRIGGER_GET, "REQUEST_TRIGGER_GET", 2018 },
    { OP_TRIGGER_SET, "REQUEST_TRIGGER_SET", 2017 },
};

/* acct-list and acct-admin stand for dozens of requests there, so no one of those names them. */
static const struct row database[] = {
    { OP_DBD_FEED, "DBD_SEND_MULT_MSG", 0 },      { OP_DBD_REGISTER, "DBD_REGISTER_CTLD", 0 },
    { OP_QUERY_ACCT, "DBD_GET_JOBS_COND", 1444 }, { OP_QUERY_CONFIG, "DBD_GET_CONFIG", 0 },
    { OP_QUERY_DIAG, "DBD_GET_STATS", 0 },        { OP_RECONFIGURE, "DBD_RECONFIG", 0 },
    { OP_SHUTDOWN, "DBD_SHUTDOWN", 0 },
};

static unsigned op_number(const char *name)
{
    static const struct {
        const char *name;
        unsigned number;
    } ops[] = {
#define ROW(symbol, op_id, op_name, ...) { op_name, op_id },
        WIRE_OPS(ROW)
#undef ROW
    };

    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        if (strcmp(ops[i].name, name) == 0)
            return ops[i].number;
    return 0;
}

static struct msgname find_row(const struct row *rows, size_t n, const char *op)
{
    unsigned number = op ? op_number(op) : 0;

    for (size_t i = 0; number && i < n; i++)
        if (rows[i].op == number)
            return (struct msgname){ rows[i].name, rows[i].number ? rows[i].number : number };
    return (struct msgname){ op ? op : "", number };
}

struct msgname msgname_of(const char *op)
{
    return find_row(controller, ARRAY_SIZE(controller), op);
}

struct msgname msgname_of_dbd(const char *op)
{
    return find_row(database, ARRAY_SIZE(database), op);
}
