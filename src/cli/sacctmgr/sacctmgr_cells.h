/* sacctmgr_cells.h - what the columns of lists take from records; for sacctmgr_fields.c */
#pragma once

#include "base/strbuf.h"
#include "cli/sacctmgr/sacctmgr.h"

enum col {
    C_ACCOUNT,
    C_ACTION,
    C_ACTOR,
    C_ADMIN,
    C_ALLOCATED,
    C_ALLOWED,
    C_ASSOCS,
    C_CLASS,
    C_CLUSTER,
    C_CLUSTER_NODES,
    C_COMMENT,
    C_CONTROL_HOST,
    C_CONTROL_PORT,
    C_COORD,
    C_COUNT,
    C_CPU,
    C_DEF_ACCOUNT,
    C_DEF_QOS,
    C_DEF_WCKEY,
    C_DESCR,
    C_DURATION,
    C_EVENT,
    C_EVENT_RAW,
    C_EMPTY,
    C_EXTRA,
    C_FEATURES,
    C_FEDERATION,
    C_FED_ID,
    C_FED_STATE,
    C_FED_STATE_RAW,
    C_FAIRSHARE,
    C_FLAGS,
    C_GRACE,
    C_ID,
    C_INFO,
    C_LAST_CONSUMED,
    C_LIMIT,
    C_LIMIT_TIME,
    C_LIMIT_TRES,
    C_LIMIT_ONE,
    C_LIMIT_FACTOR,
    C_LINEAGE,
    C_NAME,
    C_NODE_COUNT,
    C_INSTANCE_ID,
    C_INSTANCE_TYPE,
    C_NODE_NAME,
    C_ORG,
    C_PARENT_ID,
    C_PARENT_NAME,
    C_PARTITION,
    C_PREEMPT,
    C_PREEMPT_EXEMPT,
    C_PREEMPT_MODE,
    C_PRIORITY,
    C_PROBLEM,
    C_QOS,
    C_QOS_RAW,
    C_REASON,
    C_RPC,
    C_SERVER,
    C_SERVER_TYPE,
    C_STATE,
    C_STATE_RAW,
    C_TIME,
    C_TIME_END,
    C_TIME_START,
    C_TRES,
    C_TYPE,
    C_UNUSED_WALL,
    C_USAGE_FACTOR,
    C_USAGE_THRESHOLD,
    C_USER,
    C_WCKEYS,
    C_WHERE,
};

struct smgr_field {
    const char *name; /* of format= */
    unsigned min;
    const char *header;
    int width; /* negative: to the left */
    enum col col;
    const char *field; /* of Limits; of C_LIMIT_ONE behind the TRES number: "1grp_tres" */
};

/* Append the text of one cell; nothing where the row has no record with a value. */
void smgr_put_cell(struct strbuf *sb, const struct smgr_row *r, const struct smgr_field *f);
