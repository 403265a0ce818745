/* usageops.c - OP_USAGE; see usageops.h. */
#include "acctd/usageops.h"

#include "acct.pb-c.h"
#include "acct/usage/rollup.h"

int usage_ask(struct serve_call *call, const ProtobufCMessage *request, struct err *err)
{
    Pst__UsageRequest own = *(const Pst__UsageRequest *)request;
    uint32_t uid = serve_uid(call);
    Pst__UsageReply *reply = NULL;
    struct sql *db;
    int r = serve_db(call, &db, err);

    if (!serve_may_see_usage(call)) {
        own.uids = &uid;
        own.n_uids = 1;
    }
    if (r == 0)
        r = acct_usage(db, serve_location(call), &own, serve_stopping(call), &reply, err);
    if (r < 0)
        return r;
    r = serve_reply(call, &reply->base, false);
    pst__usage_reply__free_unpacked(reply, NULL);
    return r;
}
