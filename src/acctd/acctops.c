/* acctops.c - the store's operations: one row each.  Who may ask is in wire/access.def. */
#include "acctd/acctops.h"

#include "acctd/archiveops.h"
#include "acctd/acctfeed.h"
#include "acctd/usageops.h"
#include "base/cleanup.h"
#include "wire/ops.h"

static const struct serve_op rows[OP_MAX_] = {
    [OP_QUERY_ACCT] = { NULL, 0 }, /* serve.c streams it */
    [OP_DBD_REGISTER] = { feed_register, 0 },
    [OP_USAGE] = { usage_ask, 0 },
    [OP_ARCHIVE] = { archive_run, SERVE_WRITES },
    [OP_DBD_FEED] = { feed_store, 0 },
};

const struct serve_op *serve_op(unsigned op)
{
    if (op >= ARRAY_SIZE(rows) || (!rows[op].fn && op != OP_QUERY_ACCT))
        return NULL;
    return &rows[op];
}

bool serve_has(unsigned op)
{
    return serve_op(op) != NULL;
}
