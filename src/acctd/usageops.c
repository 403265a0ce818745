/* usageops.c - OP_USAGE; see usageops.h. */
#include "acctd/usageops.h"

#include "acct.pb-c.h"
#include "acct/admin/admin_sight.h"
#include "acct/usage/rollup.h"

int usage_ask(struct serve_call *call, const ProtobufCMessage *request, struct err *err)
{
    Pst__UsageRequest own = *(const Pst__UsageRequest *)request;
    struct admin_sight sight = { .all = false };
    Pst__UsageReply *reply = NULL;
    struct sql *db;
    int r = serve_db(call, &db, err);

    if (r == 0)
        r = serve_sees_usage(call, &sight, err);
    if (r == 0 && !sight.all) {
        own.has_seen_uid = true;
        own.seen_uid = serve_uid(call);
        own.seen_accounts = sight.accounts; /* borrowed */
        own.n_seen_accounts = sight.n;
    }
    if (r == 0)
        r = acct_usage(db, serve_location(call), &own, serve_stopping(call), &reply, err);
    admin_sight_done(&sight);
    if (r < 0)
        return r;
    r = serve_reply(call, &reply->base, false);
    pst__usage_reply__free_unpacked(reply, NULL);
    return r;
}
