/* private.c - PrivateData for requests that the core does not answer; see private.h. */
#include "ctld/front/private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "acct.pb-c.h"
#include "base/cleanup.h"
#include "ctld/acct/acctthread.h"
#include "ctld/core/service.h"
#include "ctld/policy/policy.h"
#include "ctld/front/users.h"
#include "ctld/front/view.h"
#include "ctld/watch/watch.h"
#include "watch.pb-c.h"

/* Which values of PrivateData an operation is about. */
static const struct {
    uint16_t op;
    unsigned bits;
} about[] = {
    { OP_QUERY_ACCT, PRIVATE_JOBS },
    { OP_USAGE, PRIVATE_USAGE },
    { OP_QUERY_PRIORITY, PRIVATE_JOBS },
    { OP_WATCH, PRIVATE_JOBS | PRIVATE_NODES | PRIVATE_PARTITIONS },
};

struct private_query {
    struct front *front;
    struct conn *conn;
    struct frame frame; /* its body is ours */
    uint8_t *body;
    ProtobufCMessage *msg;
    char *caller;
    struct private_view view;
};

static void query_free(void *arg)
{
    struct private_query *q = arg;

    if (q->msg)
        protobuf_c_message_free_unpacked(q->msg, NULL);
    conn_unref(q->conn);
    idmap_done(&q->view.assocs);
    free(q->body);
    free(q->caller);
    free(q);
}

static void refuse_query(struct private_query *q, int code)
{
    (void)conn_error(q->conn, q->frame.op, q->frame.id, code, NULL);
    query_free(q);
}

/* The message, changed, as a frame again. */
static bool pack_query(struct private_query *q)
{
    q->frame.len = (uint32_t)protobuf_c_message_get_packed_size(q->msg);
    q->body = malloc(q->frame.len + 1);
    if (!q->body)
        return false;
    protobuf_c_message_pack(q->msg, q->body);
    q->frame.body = q->body;
    return true;
}

/* Of the users that the request names (none: all), keep only the caller.  False: out of memory. */
static bool keep_own(uint32_t **uids, size_t *n, uid_t uid)
{
    uint32_t *own = malloc(sizeof(*own));
    bool asked = *n == 0;

    if (!own)
        return false;
    for (size_t i = 0; i < *n; i++)
        asked = asked || (*uids)[i] == uid;
    *own = asked ? uid : UINT32_MAX; /* UINT32_MAX is no user's number */
    free(*uids);
    *uids = own;
    *n = 1;
    return true;
}

/* ---- sacct ----------------------------------------------------------------------------------- */

/* The accounts whose jobs and usage a request is told beside those of the caller. */
struct seen_accounts {
    char ***list;
    size_t *n;
};

static void add_account(void *ctx, const char *account)
{
    const struct seen_accounts *seen = ctx;
    char **more = reallocarray(*seen->list, *seen->n + 1, sizeof(*more));

    if (!more)
        return; /* he does not see what is in it */
    *seen->list = more;
    more[*seen->n] = strdup(account);
    *seen->n += more[*seen->n] != NULL;
}

/* A user sees what is his own, and what is in the accounts that he coordinates. */
static void note_seen(const struct private_query *q, struct seen_accounts seen)
{
    for (size_t i = 0; i < *seen.n; i++)
        free((*seen.list)[i]);
    *seen.n = 0;
    policy_each_coordinated(q->front->ctld, q->caller, add_account, &seen);
}

static void narrow_acct(const struct private_query *q, uid_t uid)
{
    Pst__AcctFilter *f = (Pst__AcctFilter *)q->msg;

    f->has_seen_uid = true;
    f->seen_uid = uid;
    note_seen(q, (struct seen_accounts){ &f->seen_accounts, &f->n_seen_accounts });
}

static void narrow_usage(const struct private_query *q, uid_t uid)
{
    Pst__UsageRequest *u = (Pst__UsageRequest *)q->msg;

    u->has_seen_uid = true;
    u->seen_uid = uid;
    note_seen(q, (struct seen_accounts){ &u->seen_accounts, &u->n_seen_accounts });
}

/* ---- sprio ----------------------------------------------------------------------------------- */

static void note_account(void *ctx, const char *account)
{
    struct private_query *q = ctx;
    const struct ctld *ctld = q->front->ctld;
    const struct assoc *a;

    for (size_t pos = 0; (a = am_next_assoc(ctld->cluster->am, &pos));)
        if (a->rec->account && strcasecmp(a->rec->account, account) == 0)
            (void)idmap_put(&q->view.assocs, a->id, q); /* out of memory: he does not see it */
}

static void narrow_priority(struct private_query *q, uid_t uid)
{
    q->view.own_only = true;
    q->view.uid = uid;
    policy_each_coordinated(q->front->ctld, q->caller, note_account, q);
}

/* ---- watchers -------------------------------------------------------------------------------- */

static bool keep_entity(unsigned hidden, uint32_t entity)
{
    return !(entity == PST__WATCH_ENTITY__WATCH_NODE && hidden & PRIVATE_NODES) &&
           !(entity == PST__WATCH_ENTITY__WATCH_PARTITION && hidden & PRIVATE_PARTITIONS);
}

/* 0 or a code. */
static int narrow_watch(struct private_query *q, unsigned hidden, uid_t uid)
{
    Pst__WatchRequest *r = (Pst__WatchRequest *)q->msg;
    size_t n = 0;

    for (size_t i = 0; i < r->n_entities; i++)
        if (keep_entity(hidden, r->entities[i]))
            r->entities[n++] = r->entities[i];
    if (r->n_entities && !n)
        return ESLURM_ACCESS_DENIED;
    r->n_entities = n;
    if (!(hidden & PRIVATE_JOBS))
        return 0;
    if (!r->jobs && (r->jobs = malloc(sizeof(*r->jobs))))
        pst__job_filter__init(r->jobs);
    return r->jobs && keep_own(&r->jobs->uids, &r->jobs->n_uids, uid) ? 0 : EPST_BUSY;
}

static void watch_on_its_thread(struct conn *c, void *arg)
{
    struct private_query *q = arg;

    watch_start(q->front->ctld->watch, c, &q->frame);
    query_free(q);
}

/* ---- on the core's thread -------------------------------------------------------------------- */

static void go_on(struct private_query *q)
{
    struct ctld *ctld = q->front->ctld;
    const struct ctld_op *row = service_op(ctld, q->frame.op);

    if (row && row->narrow)
        row->narrow(ctld, q->conn, &q->frame, &q->view);
    else if (q->frame.op != OP_WATCH)
        acctthread_request(ctld->acct, q->conn, &q->frame, views_shown_lsn(ctld->views));
    else if (conn_run(q->conn, watch_on_its_thread, q) == 0)
        return;
    query_free(q);
}

static void narrow_query(void *arg)
{
    struct private_query *q = arg;
    struct ctld *ctld = q->front->ctld;
    uid_t uid = conn_peer(q->conn)->uid;
    unsigned hidden = policy_hidden(ctld, uid, q->caller);
    int code = 0;

    if (q->frame.op == OP_USAGE && hidden & PRIVATE_USAGE)
        narrow_usage(q, uid);
    else if (q->frame.op == OP_QUERY_ACCT && hidden & PRIVATE_JOBS)
        narrow_acct(q, uid);
    else if (q->frame.op == OP_QUERY_PRIORITY && hidden & PRIVATE_JOBS)
        narrow_priority(q, uid);
    else if (q->frame.op == OP_WATCH)
        code = narrow_watch(q, hidden, uid);
    if (code == 0 && !pack_query(q))
        code = EPST_BUSY;
    if (code != 0)
        refuse_query(q, code);
    else
        go_on(q);
}

bool private_takes(struct front *f, struct conn *c, const struct frame *frame)
{
    struct private_query *q;
    struct err err = { .text = "" };
    ProtobufCMessage *msg;
    struct cmd *cmd;
    unsigned bits = 0;
    char *groups;

    for (size_t i = 0; i < ARRAY_SIZE(about); i++)
        bits |= about[i].op == frame->op ? about[i].bits : 0;
    if (conn_peer(c)->uid == 0 || !(atomic_load(&f->ctld->private_data) & bits))
        return false;
    if (frame_unpack_request(frame, &msg, &err) < 0) {
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
    *q = (struct private_query){ .front = f, .conn = conn_ref(c), .frame = *frame, .msg = msg };
    users_lookup(f->users, conn_peer(c)->uid, &q->caller, &groups);
    free(groups);
    cmd->kind = CMD_CALL;
    cmd->lane = core_lane(f->ctld, conn_peer(c)->uid);
    cmd->fn = narrow_query;
    cmd->drop = query_free;
    cmd->arg = q;
    (void)core_post(f->ctld, cmd); /* never refused: it is no request */
    return true;
}
