/* privateacct.c - sacct under PrivateData=jobs; see privateacct.h. */
#include "ctld/privateacct.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "ctld/acctthread.h"
#include "ctld/policy.h"
#include "ctld/users.h"

struct private_query {
    struct front *front;
    struct conn *conn;
    struct frame frame; /* without its body */
    Pst__AcctFilter *filter;
    char *caller;
    size_t coordinated; /* of the accounts asked for */
};

static void query_free(struct private_query *q)
{
    if (q->filter)
        pst__acct_filter__free_unpacked(q->filter, NULL);
    conn_unref(q->conn);
    free(q->caller);
    free(q);
}

static void count_account(void *ctx, const char *account)
{
    struct private_query *q = ctx;

    for (size_t i = 0; i < q->filter->n_accounts; i++)
        q->coordinated += strcasecmp(q->filter->accounts[i], account) == 0;
}

/* A coordinator who asks for his accounts sees them; all others see their own. */
static bool all_his(struct private_query *q)
{
    policy_each_coordinated(q->front->ctld, q->caller, count_account, q);
    return q->filter->n_accounts && q->coordinated >= q->filter->n_accounts;
}

/* Core thread. */
static void narrow(void *arg)
{
    struct private_query *q = arg;
    struct ctld *ctld = q->front->ctld;
    uid_t uid = conn_peer(q->conn)->uid;
    bool hidden = policy_hidden(ctld, uid, q->caller) & PRIVATE_JOBS && !all_his(q);
    uint32_t *own = hidden ? malloc(sizeof(*own)) : NULL;
    _cleanup_free_ uint8_t *body = NULL;

    if (own) {
        *own = uid;
        free(q->filter->uids);
        q->filter->uids = own;
        q->filter->n_uids = 1;
    }
    q->frame.len = (uint32_t)pst__acct_filter__get_packed_size(q->filter);
    body = malloc(q->frame.len + 1);
    if (!body || (hidden && !own)) {
        (void)conn_error(q->conn, q->frame.op, q->frame.id, EPST_BUSY, NULL);
    } else {
        pst__acct_filter__pack(q->filter, body);
        q->frame.body = body;
        acctthread_request(ctld->acct, q->conn, &q->frame);
    }
    query_free(q);
}

bool privateacct_takes(struct front *f, struct conn *c, const struct frame *frame)
{
    struct private_query *q;
    struct err err = { .text = "" };
    ProtobufCMessage *msg;
    struct cmd *cmd;
    char *groups;

    if (frame->op != OP_QUERY_ACCT || conn_peer(c)->uid == 0 ||
        !(atomic_load(&f->ctld->private_data) & PRIVATE_JOBS))
        return false;
    if (frame_unpack(frame, &msg, &err) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return true;
    }
    q = calloc(1, sizeof(*q));
    cmd = calloc(1, sizeof(*cmd));
    if (!q || !cmd) {
        free(q);
        free(cmd);
        protobuf_c_message_free_unpacked(msg, NULL);
        (void)conn_error(c, frame->op, frame->id, EPST_BUSY, NULL);
        return true;
    }
    *q = (struct private_query){ .front = f, .conn = conn_ref(c), .frame = *frame, .filter = (Pst__AcctFilter *)msg };
    users_lookup(f->users, conn_peer(c)->uid, &q->caller, &groups);
    free(groups);
    cmd->kind = CMD_CALL;
    cmd->fn = narrow;
    cmd->arg = q;
    (void)core_post(f->ctld, cmd); /* never refused: it is no request */
    return true;
}
