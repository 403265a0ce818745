/* front.c - the controller's door; see front.h.  Runs on the server's I/O threads. */
#include "ctld/front/front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/tls/conf_tls.h"
#include "daemon/kiosk.h"
#include "wire/tls/tls.h"
#include "acctd/acctops.h"
#include "acctd/serve.h"
#include "ctld/acct/acctthread.h"
#include "ctld/core/contents.h"
#include "ctld/front/private.h"
#include "ctld/front/ratelimit.h"
#include "ctld/front/users.h"
#include "ctld/front/userstat.h"
#include "ctld/front/view.h"
#include "ctld/core/effects.h"
#include "ctld/core/service.h"

#define IO_THREADS 2u
#define IO_THREADS_MAX 32u
#define MAX_CONNECTIONS 65536u
#define OUT_LIMIT (64u << 20)

static struct cmd *cmd_new(struct front *f, struct conn *c, const struct frame *frame,
                           ProtobufCMessage *msg)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    if (!cmd)
        return NULL;
    cmd->kind = CMD_REQUEST;
    cmd->conn = conn_ref(c);
    cmd->op = frame->op;
    cmd->id = frame->id;
    cmd->oneway = frame->flags & FRAME_ONEWAY;
    cmd->msg = msg;
    cmd->uid = conn_peer(c)->uid;
    cmd->gid = conn_peer(c)->gid;
    cmd->lane = core_lane(f->ctld, cmd->uid);
    cmd->bytes = frame->len;
    if (frame->deadline_ms)
        cmd->deadline_mono_us = conn_arrival_mono_us(c) + (int64_t)frame->deadline_ms * 1000;
    if (cmd->uid != 0) { /* what accounting lets him do goes by his name */
        char *groups;

        users_lookup(f->users, cmd->uid, &cmd->caller, &groups);
        free(groups);
    }
    if (frame->op == OP_JOB_SUBMIT) {
        const Pst__SubmitRequest *req = PB_AS(submit_request, msg);
        bool other = req->has_uid && cmd->uid == 0;

        users_lookup(f->users, other ? req->uid : cmd->uid, &cmd->user_name, &cmd->group_name);
    } else if (frame->op == OP_CRONTAB_SET) {
        const Pst__CrontabSetRequest *req = PB_AS(crontab_set_request, msg);

        users_lookup(f->users, req->has_uid ? req->uid : cmd->uid, &cmd->user_name,
                     &cmd->group_name);
    } else if (frame->op == OP_FED_COPY) {
        const Pst__SubmitRequest *req = PB_AS(fed_copy_request, msg)->submit;

        if (req)
            users_lookup(f->users, req->uid, &cmd->user_name, &cmd->group_name);
    } else if (frame->op == OP_JOB_UPDATE) {
        const Pst__JobUpdateRequest *req = PB_AS(job_update_request, msg);

        if (req->has_as_uid) /* the core refuses a sender who may not name another */
            users_lookup(f->users, req->as_uid, &cmd->user_name, &cmd->group_name);
        else if (req->set &&
                 (req->set->partition || req->set->mcs_label)) /* AllowGroups; MCSPlugin */
            users_lookup(f->users, cmd->uid, &cmd->user_name, &cmd->group_name);
    }
    return cmd;
}

/* Is it for administrators, and the sender one by his AdminLevel at best?  That the core knows;
 * until then nothing that he sent is unpacked. */
static bool core_decides(const struct front *f, const struct conn *c, unsigned op)
{
    return access_role(ACCESS_CTLD, op) == ACCESS_ADMIN &&
           !core_is_admin(f->ctld, conn_peer(c)->uid);
}

static bool keep_packed(struct cmd *cmd, const struct frame *frame)
{
    uint8_t *body = malloc(frame->len + 1);

    if (!body)
        return false;
    if (frame->len)
        memcpy(body, frame->body, frame->len);
    cmd->packed = *frame;
    cmd->packed.body = body;
    return true;
}

static void to_core(struct front *f, struct conn *c, const struct frame *frame,
                    const struct ctld_op *row)
{
    bool later = core_decides(f, c, frame->op);
    struct err err = { .text = "" };
    ProtobufCMessage *msg = NULL;
    struct cmd *cmd;
    int r = later ? 0 : frame_unpack_request(frame, &msg, &err);

    if (r < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return;
    }
    if (msg && cmd_check_words(frame->op, msg, &err) < 0) {
        protobuf_c_message_free_unpacked(msg, NULL);
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return;
    }
    cmd = cmd_new(f, c, frame, msg);
    if (!cmd && msg)
        protobuf_c_message_free_unpacked(msg, NULL);
    if (!cmd || (later ? !keep_packed(cmd, frame)
                       : contents_of_request(msg, &cmd->contents, &cmd->n_contents) < 0 ||
                             contents_digest(msg, frame->body, frame->len) < 0)) {
        cmd_free(cmd);
        (void)conn_error(c, frame->op, frame->id, EPST_BUSY, NULL);
        return;
    }
    if (row->flags & OPF_CLOSES)
        conn_set_data(c, f);
    if (!core_post(f->ctld, cmd))
        (void)conn_error(c, frame->op, frame->id, EPST_BUSY, NULL);
}

/* NULL: AuthAltTypes lacks auth/jwt. */
static struct auth_tokens *believed_tokens(const struct ctld *ctld)
{
    return conf_use_jwt(ctld->conf) ? ctld->tokens : NULL;
}

void front_configure(struct front *f)
{
    uint64_t life_s = conf_num(f->ctld->conf, CONF_GROUP_UPDATE_TIME);

    atomic_store(&f->client_ids, conf_client_ids(f->ctld->conf));
    ratelimit_configure(f->rate, f->ctld->conf);
    users_set_life(f->users, life_s ? (int64_t)life_s * USEC_PER_SEC : INT64_MAX);
    if (f->server) { /* it is new otherwise, and has been told */
        server_set_auth(f->server, f->ctld->keys, believed_tokens(f->ctld));
        server_set_tls(f->server, f->ctld->tls);
    }
    if (f->kiosk)
        kiosk_set_keys(f->kiosk, f->ctld->keys);
}

/* rl_enable: users may ask so often and no more; false: told to come back. */
static bool admit_frame(struct front *f, struct conn *c, const struct frame *frame)
{
    uid_t uid = conn_peer(c)->uid;
    bool log;

    if (!core_lane(f->ctld, uid) || ratelimit_admit(f->rate, uid, conn_arrival_mono_us(c), &log))
        return true;
    if (log)
        log_info("%s of a user who asks too often: told to come back uid=%u",
                 wire_op_info(frame->op)->name, uid);
    (void)conn_error(c, frame->op, frame->id, SLURMCTLD_COMMUNICATIONS_BACKOFF, NULL);
    return false;
}

/* This controller does not lead: may it answer all the same?  Over connections that asked for it
 * (PingRequest.accept_standby), or when it was started to show the past. */
static bool may_show(const struct front *f, const struct conn *c, const struct ctld_op *row)
{
    return row && row->flags & OPF_SHOWS && atomic_load(&f->ctld->reading) &&
           (f->ctld->past_us || conn_data(c));
}

/* The user's last job on the node that vouched for him may be over by now. */
static bool still_vouched(struct front *f, struct conn *c, const struct frame *frame)
{
    const struct peer *p = conn_peer(c);
    gid_t gid;

    if (!p->node_vouched || services_may_vouch(f->ctld, p->node_key, p->uid, &gid))
        return true;
    (void)conn_error(c, frame->op, frame->id, EPST_AUTH,
                     "Invalid authentication credential: you have no job on this node any more");
    return false;
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct front *f = ctx;
    const struct ctld_op *row = service_op(f->ctld, frame->op);

    server_log_request(conn_peer(c), frame->op);
    if (f->ctld->past_us && !core_is_admin(f->ctld, conn_peer(c)->uid)) {
        (void)conn_error(c, frame->op, frame->id, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    if (atomic_load(&f->ctld->standby) && !may_show(f, c, row)) {
        services_on_standby(f->ctld, c, frame);
        return;
    }
    if (!row && !serve_has(frame->op)) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST,
                         "the controller does not know this operation");
        return;
    }
    if (atomic_load(&f->ctld->stopping)) {
        /* of several another one goes on: who asks tries that */
        (void)conn_error(c, frame->op, frame->id,
                         f->ctld->ha ? ESLURM_IN_STANDBY_MODE : EPST_SHUTTING_DOWN, NULL);
        return;
    }
    if (!still_vouched(f, c, frame) || !admit_frame(f, c, frame))
        return;
    if (conn_ident(c) && atomic_load(&f->client_ids))
        users_learn(f->users, conn_peer(c)->uid, conn_ident(c)->name, conn_ident(c)->gids,
                    conn_ident(c)->n_gids);
    if (private_takes(f, c, frame))
        return; /* the core says whose records he may see */
    if (!row)
        acctthread_request(f->ctld->acct, c, frame, views_shown_lsn(f->ctld->views));
    else if (row->front)
        row->front(f->ctld, c, frame);
    else
        to_core(f, c, frame, row);
}

static bool knows_node(void *ctx, const uint8_t key[IDKEY_SIZE])
{
    const struct front *f = ctx;

    return services_knows_node(f->ctld, key);
}

static bool may_vouch(void *ctx, const uint8_t key[IDKEY_SIZE], uid_t uid, gid_t *ret_gid)
{
    const struct front *f = ctx;

    return services_may_vouch(f->ctld, key, uid, ret_gid);
}

static void on_close(void *ctx, struct conn *c)
{
    struct front *f = ctx;
    struct cmd *cmd;

    services_on_conn_gone(f->ctld, c);
    if (!conn_data(c))
        return;
    cmd = calloc(1, sizeof(*cmd));
    if (!cmd)
        return; /* the node or client is noticed by its silence */
    cmd->kind = CMD_CLOSED;
    cmd->conn = conn_ref(c);
    cmd->lane = core_lane(f->ctld, conn_peer(c)->uid); /* behind what it has asked for */
    (void)core_post(f->ctld, cmd);                     /* never refused: it is no request */
}

static void on_tls(void *ctx, const struct peer *peer, const char *why)
{
    (void)ctx;
    server_log_tls(peer, why);
}

static void on_http(void *ctx, int fd, const char *head, size_t n)
{
    const struct front *f = ctx;

    services_on_http(f->ctld, fd, head, n);
}

/* NoCtldInAddrAny, which NoInAddrAny includes: the address of our SlurmctldHost line; NULL: any. */
static const char *bind_address(const struct ctld *ctld)
{
    const char *addr = NULL;
    bool named =
        conf_option(ctld->conf, CONF_COMMUNICATION_PARAMETERS, "NoCtldInAddrAny", NULL, NULL) ||
        conf_option(ctld->conf, CONF_COMMUNICATION_PARAMETERS, "NoInAddrAny", NULL, NULL);

    for (size_t i = 0; named && conf_ctld_host(ctld->conf, i, &addr); i++)
        if (strcasecmp(conf_ctld_host(ctld->conf, i, NULL), ctld->host) == 0)
            return addr;
    return NULL;
}

static unsigned read_param(const struct ctld *ctld, const char *name)
{
    uint64_t v = 0;

    (void)conf_option_u64(ctld->conf, CONF_SLURMCTLD_PARAMETERS, name, &v); /* 0: not there */
    return (unsigned)MIN(v, (uint64_t)UINT32_MAX);
}

/* What conmgr_* says of connections.  Each node keeps one, which does not count. */
static void limit_connections(const struct ctld *ctld, struct server_config *config)
{
    uint64_t most = read_param(ctld, "conmgr_max_connections"),
             threads = read_param(ctld, "conmgr_threads"),
             nodes =
                 MAX(conf_num(ctld->conf, CONF_MAX_NODE_COUNT), (uint64_t)conf_nodes(ctld->conf));

    if (most)
        config->max_connections = (unsigned)MIN(most + nodes, (uint64_t)MAX_CONNECTIONS);
    if (threads)
        config->threads = (unsigned)MIN(threads, (uint64_t)IO_THREADS_MAX);
    config->stall_timeout_ms = read_param(ctld, "conmgr_read_timeout") * 1000;
    config->write_timeout_ms = read_param(ctld, "conmgr_write_timeout") * 1000;
    conf_keepalive(ctld->conf, config->keepalive);
}

int front_new(struct ctld *ctld, struct front **ret, struct err *err)
{
    struct front *f = calloc(1, sizeof(*f));
    struct server_config config = {
        .port = conf_ctld_port(ctld->conf),
        .local_socket = !ctld->ha, /* of several controllers the active one has it */
        .bind_addr = ctld->past_us ? "127.0.0.1" : bind_address(ctld),
        .no_ipv4 =
            conf_option(ctld->conf, CONF_COMMUNICATION_PARAMETERS, "DisableIPv4", NULL, NULL),
        .threads = IO_THREADS,
        .max_connections = MAX_CONNECTIONS,
        .out_limit = OUT_LIMIT,
        .slurm_uid = conf_slurm_uid(ctld->conf),
        .cluster = conf_str(ctld->conf, CONF_CLUSTER_NAME),
        .keys = ctld->keys,
        .tls = ctld->tls,
        .service = "slurmctld",
        .identity = ctld->identity,
        .tokens = believed_tokens(ctld),
        .use_munge = conf_use_munge(ctld->conf),
        .munge_socket = conf_munge_socket(ctld->conf),
        .munge_ttl_s = conf_munge_ttl_s(ctld->conf),
        .serves = ACCESS_AT(ACCESS_CTLD),
        .slurmd_uid = conf_slurmd_uid(ctld->conf),
        .hooks = { .on_request = on_request,
                   .on_close = on_close,
                   .knows_node = knows_node,
                   .may_vouch = may_vouch,
                   .on_http = on_http,
                   .on_tls = on_tls },
    };
    int r;

    if (!f)
        return -ENOMEM;
    f->ctld = ctld;
    pthread_mutex_init(&f->gate.lock, NULL);
    limit_connections(ctld, &config);
    config.ctx = f;
    r = users_new(&f->users);
    if (r >= 0)
        r = ratelimit_new(&f->rate);
    if (r >= 0)
        r = userstat_new(&f->userstat);
    if (r >= 0)
        front_configure(f);
    if (r >= 0)
        r = server_new(&config, &f->server, err);
    if (r < 0) {
        users_free(f->users);
        ratelimit_free(f->rate);
        userstat_free(f->userstat);
        free(f);
        return r;
    }
    *ret = f;
    return 0;
}

int front_start(struct front *f)
{
    struct err err = { .text = "" };

    if (!conf_use_munge(f->ctld->conf)) {
        if (kiosk_open("slurmctld", conf_slurm_uid(f->ctld->conf), &f->kiosk, &err) == 0)
            kiosk_set_keys(f->kiosk, f->ctld->keys);
        else
            log_info("this controller vouches for no commands: %s", err.text);
    }
    return server_start(f->server);
}

struct front *front_free(struct front *f)
{
    if (!f)
        return NULL;
    f->kiosk = kiosk_close(f->kiosk);
    server_free(f->server);
    users_free(f->users);
    ratelimit_free(f->rate);
    userstat_free(f->userstat);
    pthread_mutex_destroy(&f->gate.lock);
    free(f);
    return NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_front(struct ctld *ctld, struct err *err)
{
    return front_new(ctld, &ctld->front, err);
}

static void reconfigure_front(struct ctld *ctld)
{
    if (ctld->front)
        front_configure(ctld->front);
}

static void stop_front(struct ctld *ctld)
{
    if (ctld->front && ctld->front->server && ctld->ha && !atomic_load(&ctld->standby) &&
        !effects_unsaid(ctld->effects))
        server_set_farewell(ctld->front->server, ESLURM_IN_STANDBY_MODE);
    if (ctld->front && ctld->front->server)
        server_stop(ctld->front->server);
    if (ctld->front)
        ctld->front->kiosk = kiosk_close(ctld->front->kiosk);
}

static void free_front(struct ctld *ctld)
{
    ctld->front = front_free(ctld->front);
}

static void count_answer(struct ctld *ctld, unsigned op, uid_t uid, int64_t elapsed_us)
{
    rpc_count(ctld->front->rpcs, op, elapsed_us);
    userstat_count(ctld->front->userstat, uid, elapsed_us);
}

const struct ctld_service front_service = {
    .name = "front",
    .start = start_front,
    .reconfigured = reconfigure_front,
    .stop = stop_front,
    .free = free_front,
    .answered = count_answer,
};
