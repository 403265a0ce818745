/* listen.c - srun's launch requests; see listen.h
 *
 * A caller proves at the door that he has the key that came with a credential (AUTH_STEP), and
 * slurmd that it is this node's.  The server's thread checks that the request carries that
 * credential, and the credential (its HMAC is the only thing trusted), detaches the connection
 * and queues both for the main thread, which refuses runs that are over and credentials seen
 * before (seen.h). The queue is the only state shared, under its lock. */
#include "noded/link/listen.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "daemon/credlife.h"
#include "http/httphealth.h"
#include "noded/link/confpage.h"
#include "noded/jobs/seen.h"
#include "noded/link/tlsrefuse.h"
#include "stepd/shared/spool.h"
#include "daemon/dmntokens.h"
#include "wire/auth/auth.h"
#include "wire/auth/idkey.h"
#include "wire/errors.h"
#include "wire/server/server.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"
#include "wire/x11/xauthority.h"

DEFINE_CLEANUP(struct auth_keys *, auth_keys_free)

/* at most: beyond it nothing is accepted in any case */
#define CLOCKS_DIFFER_US (300 * USEC_PER_SEC)
#define REVOKE_US (600 * USEC_PER_SEC)
#define FRESH_US USEC_PER_SEC /* between a signature and its controller's answer to us */
#define OUT_LIMIT (4u * WIRE_MIB)
#define MAX_CONNECTIONS 4096u
#define CONNECTIONS_LEAST 8u /* a quarter is left for pings */

struct request {
    struct request *next;
    Pst__LaunchStep *launch; /* one of the six */
    Pst__AttachStep *attach;
    Pst__StatStep *stat;
    Pst__BcastOpen *bcast;
    Pst__RelayOpen *relay;
    Pst__TailOutput *tail;
    Pst__StepCredential *cred;
    uint8_t mac[SEEN_KEY]; /* names the credential */
    int fd;
    uint32_t frame_id;
    uint16_t op;
};

struct listener {
    struct noded *d;
    struct server *server;
    uv_async_t wake;
    uv_mutex_t lock;
    struct request *queue, **queue_end;
    struct auth_keys *keys; /* under lock, as the next two */
    uint8_t controller[IDKEY_SIZE];
    bool has_controller;
    uint8_t launch_secret[32]; /* of this node's key and the controllers' */
    bool has_launch_secret;
    struct seen *seen;
    /* credentials made earlier, by the controller's clock, are refused until that time; 0: none */
    int64_t since_us, began_mono_us, forget_since_mono_us;
    struct httphealth *health;
};

/* ---- credentials (main thread) --------------------------------------------------------------- */

void listen_revoke(struct listener *l, uint32_t job_id, uint64_t run_id)
{
    int64_t now = now_us();
    uint8_t key[SEEN_KEY];
    int r;

    seen_job_key(job_id, run_id, key);
    if (seen_count(l->seen, SEEN_OVER, key, now) > 0)
        return;
    r = seen_note(l->seen, SEEN_OVER, key,
                  now + MAX(REVOKE_US, credlife_us(l->d->conf) + CLOCKS_DIFFER_US), now);
    if (r < 0)
        log_error("cannot remember that a job is over: %s job=%u", strerror(-r), job_id);
}

/* How many relays a tree over the nodes of the credential may ask of one node: the head of a
 * piece is the head of that piece's first piece too (fanout.h), and pieces have half the nodes
 * at most. */
static unsigned relays_allowed(const Pst__StepCredential *cred)
{
    const Pst__Alloc *alloc = cred->step ? cred->step->alloc : cred->job->alloc;
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    unsigned levels = 1;

    if (hostlist_parse(alloc->nodes, &hl, NULL) < 0)
        return levels;
    for (size_t n = hostlist_count(hl); n > 2; n = (n + 1) / 2)
        levels++;
    return levels;
}

/* Note that the credential is used now.  NULL, or why it may not be. */
static const char *use_credential(struct listener *l, const struct request *rq, int64_t now)
{
    const Pst__StepCredential *cred = rq->cred;
    /* a step's own launch here comes through its relay */
    enum seen_kind kind = rq->relay ? SEEN_RELAYED : SEEN_USED;
    unsigned most = rq->relay ? relays_allowed(cred) : 1;
    uint8_t key[SEEN_KEY];
    int r;

    seen_job_key(cred->job_id, cred->run_id, key);
    if (!rq->tail && seen_count(l->seen, SEEN_OVER, key, now) > 0)
        return "Job credential revoked"; /* the output of a job that is over may be read */
    if (l->since_us && now_mono_us() < l->forget_since_mono_us &&
        cred->expires_us - credlife_us(l->d->conf) < l->since_us)
        return "Job credential is older than what this node knows of credentials";
    if (seen_count(l->seen, kind, rq->mac, now) >= most)
        return "Job credential was used before";
    r = seen_note_of(l->seen, kind, rq->mac, cred->uid, cred->expires_us, now);
    return r == -ENOSPC   ? "too many steps at once"
           : r == -EDQUOT ? "too many steps and questions of this user at once"
           : r < 0        ? "the node cannot note the use of the credential"
                          : NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

void listen_refuse_fd(int fd, ProtobufCBinaryData stream_key, uint32_t request_id, int code,
                      const char *text)
{
    listen_refuse_op(fd, stream_key, OP_LAUNCH_STEP, request_id, code, text);
}

void listen_refuse_op(int fd, ProtobufCBinaryData stream_key, unsigned op, uint32_t request_id,
                      int code, const char *text)
{
    uint8_t *buf = NULL;
    size_t len;

    if (stream_key.len) {
        tlsrefuse(fd, stream_key, op, request_id, code, text);
        return;
    }
    if (frame_pack_error(op, request_id, code, text, &buf, &len) == 0 &&
        send(fd, buf, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_debug("the caller left before its answer");
    free(buf);
    (void)close(fd);
}

static void request_free(struct request *rq)
{
    if (rq->launch)
        pst__launch_step__free_unpacked(rq->launch, NULL);
    if (rq->attach)
        pst__attach_step__free_unpacked(rq->attach, NULL);
    if (rq->stat)
        pst__stat_step__free_unpacked(rq->stat, NULL);
    if (rq->bcast)
        pst__bcast_open__free_unpacked(rq->bcast, NULL);
    if (rq->relay)
        pst__relay_open__free_unpacked(rq->relay, NULL);
    if (rq->tail)
        pst__tail_output__free_unpacked(rq->tail, NULL);
    if (rq->cred)
        pst__step_credential__free_unpacked(rq->cred, NULL);
    if (rq->fd >= 0)
        (void)close(rq->fd);
    free(rq);
}

static ProtobufCBinaryData stream_key_of(const struct request *rq)
{
    return rq->launch   ? rq->launch->stream_key
           : rq->attach ? rq->attach->stream_key
           : rq->stat   ? rq->stat->stream_key
           : rq->relay  ? rq->relay->stream_key
           : rq->tail   ? rq->tail->stream_key
                        : rq->bcast->stream_key;
}

static void accept_request(struct listener *l, struct request *rq)
{
    Pst__StepCredential *cred = rq->cred;
    const char *why = use_credential(l, rq, now_us());

    if (why) {
        log_limited(LOG_ERROR, "step refused: %s job=%u step=%u uid=%u", why, cred->job_id,
                    cred->step_id, cred->uid);
        listen_refuse_op(rq->fd, stream_key_of(rq), rq->op, rq->frame_id, ESLURM_CREDENTIAL_REVOKED,
                         why);
        rq->fd = -1;
        request_free(rq);
        return;
    }
    if (rq->launch) {
        l->d->on->launch_step(l->d, rq->launch, cred, rq->fd, rq->frame_id);
        free(rq);
        return;
    }
    if (rq->attach && rq->attach->has_x11_cookie)
        l->d->on->x11(l->d, rq->attach, cred, rq->fd, rq->frame_id);
    else if (rq->attach)
        l->d->on->attach(l->d, cred, rq->fd, rq->frame_id, rq->attach->stream_key);
    else if (rq->stat)
        l->d->on->stat(l->d, cred, rq->fd, rq->frame_id, rq->stat->stream_key);
    else if (rq->tail)
        l->d->on->tail(l->d, rq->tail, cred, rq->fd, rq->frame_id);
    else if (rq->relay)
        l->d->on->relay(l->d, rq->relay, cred, rq->fd, rq->frame_id);
    else
        l->d->on->bcast(l->d, rq->bcast, cred, rq->fd, rq->frame_id);
    request_free(rq);
}

static void on_wake(uv_async_t *wake)
{
    struct listener *l = wake->data;
    struct request *list;

    uv_mutex_lock(&l->lock);
    list = l->queue;
    l->queue = NULL;
    l->queue_end = &l->queue;
    uv_mutex_unlock(&l->lock);
    while (list) {
        struct request *rq = list;

        list = rq->next;
        accept_request(l, rq);
    }
}

/* ---- the server's thread --------------------------------------------------------------------- */

#define HET_RANKS_MAX (128u << 20) /* tasks of a step over components */
/* Whole, fresh, made for this purpose; in *ret_at our place among the nodes it names. */
static int check_credential(const struct noded *d, const Pst__StepCredential *cred,
                            Pst__CredPurpose purpose, const char *node_name, long *ret_at,
                            struct err *err)
{
    const Pst__Alloc *alloc = cred->step ? cred->step->alloc : cred->job ? cred->job->alloc : NULL;
    bool for_job = purpose == PST__CRED_PURPOSE__CRED_BCAST ||
                   purpose == PST__CRED_PURPOSE__CRED_X11 ||
                   purpose == PST__CRED_PURPOSE__CRED_OUTPUT; /* a step may be absent */
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    int r;

    if (!cred->job || !alloc || !alloc->nodes || !cred->has_uid || !cred->has_job_id ||
        (!for_job && (!cred->step || !cred->has_step_id)))
        return err_set(err, -EBADMSG, "incomplete credential");
    if (cred->purpose != purpose)
        return err_set(err, -EACCES, "the credential is for something else");
    if (cred->expires_us < now_us())
        return err_set(err, -EKEYEXPIRED, "Job credential expired");
    r = hostlist_parse(alloc->nodes, &hl, err);
    if (r < 0)
        return r;
    *ret_at = hostlist_find(hl, d->name);
    if (*ret_at < 0 || !node_name || strcmp(node_name, d->name) != 0)
        return err_set(err, -EACCES, "node %s is not in the step", d->name);
    return 0;
}

static int check_layout(const struct noded *d, const Pst__LaunchStep *launch,
                        const Pst__StepCredential *cred, struct err *err)
{
    uint32_t ranks = cred->step ? cred->step->num_tasks : 0;
    long at = -1;
    int r = check_credential(d, cred, PST__CRED_PURPOSE__CRED_LAUNCH, launch->node_name, &at, err);

    if (r < 0)
        return r;
    /* Ranks go through all parts of a step over components, or of one line of srun; how many tasks
     * this one has is in the credential. */
    if (launch->has_het_tasks)
        ranks = MIN(launch->het_tasks, HET_RANKS_MAX);
    if ((long)launch->node_index != at || launch->n_task_ids == 0 ||
        launch->n_task_ids > cred->step->num_tasks)
        return err_set(err, -EBADMSG, "the step's layout differs from its credential");
    for (size_t i = 0; i < launch->n_task_ids; i++)
        if (launch->task_ids[i] >= ranks)
            return err_set(err, -EBADMSG, "the step's layout differs from its credential");
    return 0;
}

static struct auth_keys *take_keys(struct listener *l)
{
    struct auth_keys *keys;

    uv_mutex_lock(&l->lock);
    keys = l->keys ? auth_keys_ref(l->keys) : NULL;
    uv_mutex_unlock(&l->lock);
    return keys;
}

/* What only the controllers have says that they mean it.  -ENOKEY: they are not known here yet. */
static int check_signature(struct listener *l, const Pst__SignedCredential *sc, struct err *err)
{
    uint8_t controller[IDKEY_SIZE];
    bool has;

    uv_mutex_lock(&l->lock);
    has = l->has_controller;
    memcpy(controller, l->controller, sizeof(controller));
    uv_mutex_unlock(&l->lock);
    if (!has)
        return -ENOKEY; /* no controller has told one yet */
    if (sc->signature.len != IDKEY_SIGNATURE_SIZE ||
        idkey_verify(controller, IDKEY_FOR_CREDENTIAL, sc->credential.data, sc->credential.len,
                     sc->mac.data, sc->signature.data) < 0)
        return err_set(err, -EACCES,
                       "Invalid job credential: it is not signed with the controller's key");
    return 0;
}

/* The controllers' signature, once they are known: it covers the MAC, so that a node needs no key
 * of the cluster, nor the one that signed first.  Before that the cluster's key must do. */
static int check_signed(struct listener *l, const Pst__SignedCredential *sc, struct err *err)
{
    _cleanup_(auth_keys_free) struct auth_keys *keys = NULL;
    int r = check_signature(l, sc, err);

    if (r != -ENOKEY)
        return r;
    keys = take_keys(l);
    if (!keys)
        return err_set(err, -EACCES, "this node has no key to check credentials with");
    r = auth_verify(keys, sc->key_id, sc->credential.data, sc->credential.len, sc->mac.data);
    return r < 0 ? err_set(err, r, "Invalid job credential") : 0;
}

static int verify_request(struct listener *l, const struct peer *peer, struct request *rq,
                          struct err *err)
{
    const Pst__LaunchStep *relayed = rq->relay ? rq->relay->launch : NULL;
    const Pst__BcastOpen *bcast = rq->relay ? rq->relay->bcast : rq->bcast;
    const Pst__SignedCredential *sc = rq->launch   ? rq->launch->credential
                                      : rq->attach ? rq->attach->credential
                                      : rq->stat   ? rq->stat->credential
                                      : rq->tail   ? rq->tail->credential
                                      : bcast      ? bcast->credential
                                      : relayed    ? relayed->credential
                                                   : NULL;
    long at;
    const struct noded *d = l->d;
    int r;

    if (!sc || !sc->key_id || sc->mac.len != AUTH_MAC_SIZE)
        return err_set(err, -EACCES, "Invalid job credential");
    if (peer->method != PST__AUTH_METHOD__AUTH_STEP ||
        memcmp(peer->step_mac, sc->mac.data, AUTH_MAC_SIZE) != 0)
        return err_set(err, -EACCES,
                       "Invalid job credential: the caller has not proved that it is his");
    r = check_signed(l, sc, err);
    if (r < 0)
        return r;
    rq->cred = pst__step_credential__unpack(NULL, sc->credential.len, sc->credential.data);
    if (!rq->cred)
        return err_set(err, -EBADMSG, "Invalid job credential");
    memcpy(rq->mac, sc->mac.data, sizeof(rq->mac));
    if (rq->attach && rq->attach->has_x11_cookie && rq->attach->x11_cookie.len != XAUTH_COOKIE)
        return err_set(err, -EBADMSG, "the cookie for X programs has %zu bytes, not %u",
                       rq->attach->x11_cookie.len, XAUTH_COOKIE);
    if (rq->attach)
        return check_credential(d, rq->cred,
                                rq->attach->has_x11_cookie ? PST__CRED_PURPOSE__CRED_X11
                                                           : PST__CRED_PURPOSE__CRED_ATTACH,
                                rq->attach->node_name, &at, err);
    if (rq->stat)
        return check_credential(d, rq->cred, PST__CRED_PURPOSE__CRED_STAT, rq->stat->node_name, &at,
                                err);
    if (rq->tail)
        return check_credential(d, rq->cred, PST__CRED_PURPOSE__CRED_OUTPUT, rq->tail->node_name,
                                &at, err);
    if (bcast)
        return check_credential(d, rq->cred, PST__CRED_PURPOSE__CRED_BCAST, bcast->node_name, &at,
                                err);
    if (rq->relay)
        return check_credential(d, rq->cred, PST__CRED_PURPOSE__CRED_LAUNCH, relayed->node_name,
                                &at, err);
    return check_layout(d, rq->launch, rq->cred, err);
}

static void on_launch(struct listener *l, struct conn *c, const struct frame *frame)
{
    struct request *rq = calloc(1, sizeof(*rq));
    struct err err = { .text = "" };
    ProtobufCMessage *msg = NULL;
    int r = rq ? frame_unpack_request(frame, &msg, &err) : -ENOMEM;

    if (rq) {
        rq->fd = -1;
        rq->op = frame->op;
    }
    if (r == 0) {
        if (frame->op == OP_LAUNCH_STEP)
            rq->launch = PB_AS(launch_step, msg);
        else if (frame->op == OP_ATTACH_STEP)
            rq->attach = PB_AS(attach_step, msg);
        else if (frame->op == OP_STAT_STEP)
            rq->stat = PB_AS(stat_step, msg);
        else if (frame->op == OP_TAIL_OUTPUT)
            rq->tail = PB_AS(tail_output, msg);
        else if (frame->op == OP_RELAY)
            rq->relay = PB_AS(relay_open, msg);
        else
            rq->bcast = PB_AS(bcast_open, msg);
        r = verify_request(l, conn_peer(c), rq, &err);
    }
    if (r == 0) {
        rq->frame_id = frame->id;
        r = conn_detach_fd(c, &rq->fd);
    }
    if (r < 0) {
        log_limited(LOG_ERROR, "%s refused: %s peer=%s", wire_op_info(frame->op)->name,
                    err.text[0] ? err.text : strerror(-r), conn_peer(c)->addr);
        (void)conn_error(c, frame->op, frame->id, r == -EACCES ? EPST_AUTH : SLURM_ERROR,
                         err.text[0] ? err.text : strerror(-r)); /* gone: srun sees that too */
        if (rq)
            request_free(rq);
        return;
    }
    uv_mutex_lock(&l->lock);
    *l->queue_end = rq;
    l->queue_end = &rq->next;
    uv_mutex_unlock(&l->lock);
    (void)uv_async_send(&l->wake); /* only fails while closing */
}

/* server_hooks.launch_secret */
static bool get_launch_secret(void *ctx, uint8_t secret[32])
{
    struct listener *l = ctx;
    bool has;

    uv_mutex_lock(&l->lock);
    has = l->has_launch_secret;
    memcpy(secret, l->launch_secret, sizeof(l->launch_secret));
    uv_mutex_unlock(&l->lock);
    return has;
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct listener *l = ctx;
    Pst__PingReply pong = PST__PING_REPLY__INIT;

    if (frame->op == OP_LAUNCH_STEP || frame->op == OP_ATTACH_STEP || frame->op == OP_STAT_STEP ||
        frame->op == OP_BCAST_OPEN || frame->op == OP_RELAY || frame->op == OP_TAIL_OUTPUT) {
        on_launch(l, c, frame);
        return;
    }
    if (frame->op != OP_PING) {
        (void)conn_error(c, frame->op, frame->id, SLURM_ERROR, "slurmd does not know this request");
        return;
    }
    pong.host = l->d->name;
    pong.has_now_us = pong.has_pid = true;
    pong.now_us = now_us();
    pong.pid = (uint32_t)getpid();
    (void)conn_reply(c, frame->op, frame->id, 0, &pong.base); /* fails when the peer has gone */
}

/* ---- life ------------------------------------------------------------------------------------ */

/* What an earlier slurmd took.  Without its file nothing is known of that time, so what was
 * signed then is refused. */
static int remember_used(struct listener *l, struct err *err)
{
    char path[SPOOL_PATH_MAX];
    bool fresh;
    int r;

    (void)snprintf(path, sizeof(path), "%s/credentials", l->d->spool);
    r = seen_open(path, now_us(), &l->seen, &fresh, err);
    if (r == 0 && fresh) {
        l->since_us = now_us() - FRESH_US; /* until a controller tells its clock */
        l->began_mono_us = now_mono_us();
        l->forget_since_mono_us = l->began_mono_us + credlife_us(l->d->conf);
    }
    return r;
}

/* A controller's clock may be behind ours, or behind that of the controller before it. */
void listen_set_clock(struct listener *l, int64_t controller_us)
{
    if (l->since_us)
        l->since_us = controller_us - (now_mono_us() - l->began_mono_us) - FRESH_US;
}

/* DebugFlags=AuditTLS */
static void on_tls(void *ctx, const struct peer *peer, const char *why)
{
    (void)ctx;
    server_log_tls(peer, why);
}

static void on_http(void *ctx, int fd, const char *head, size_t n)
{
    struct listener *l = ctx;

    (void)head; /* whatever is asked for */
    (void)n;
    httphealth_take(l->health, fd);
}

/* On the thread of HTTP. */
static bool is_ready(void *ctx, struct strbuf *told)
{
    const struct listener *l = ctx;

    strbuf_addf(told, "connections: %u\n", server_connections(l->server));
    return true; /* the listener is there, else nobody would ask */
}

/* Health over HTTP asks for tokens; one that cannot be believed for want of a file is refused. */
static void tell_tokens(struct listener *l, const struct conf *conf)
{
    struct auth_tokens *tokens = NULL;
    struct err err = { .text = "" };

    if (conf_use_jwt(conf) && daemon_tokens(conf, l->keys, &tokens, &err) < 0)
        log_info("no token is believed here: %s", err.text);
    httphealth_set(l->health, tokens, conf_slurm_uid(conf));
    (void)auth_tokens_free(tokens); /* always NULL */
}

static void configure_health(struct listener *l)
{
    const struct conf *conf = l->d->conf;
    _cleanup_free_ char *page = confpage_make(conf, now_us());

    tell_tokens(l, conf);
    httphealth_show(l->health, page);
    httphealth_switch(
        l->health, !conf_option(conf, CONF_COMMUNICATION_PARAMETERS, "disable_http", NULL, NULL));
}

static unsigned read_param(const struct noded *d, const char *name)
{
    uint64_t v = 0;

    (void)conf_option_u64(d->conf, CONF_SLURMD_PARAMETERS, name, &v); /* 0: not there */
    return (unsigned)MIN(v, (uint64_t)UINT32_MAX);
}

/* What conmgr_* says of connections. */
static void limit_connections(const struct noded *d, struct server_config *config)
{
    unsigned most = read_param(d, "conmgr_max_connections");

    if (most)
        config->max_connections = MIN(MAX(most, CONNECTIONS_LEAST), MAX_CONNECTIONS);
    /* A step's key is no user's: these wait, until they are handed over.  What is left is for
     * pings. */
    config->max_waiting = config->max_connections / 4 * 3;
    config->max_waiting_each = config->max_connections / 4;
    config->stall_timeout_ms = read_param(d, "conmgr_read_timeout") * 1000;
    config->write_timeout_ms = read_param(d, "conmgr_write_timeout") * 1000;
    conf_keepalive(d->conf, config->keepalive);
}

int listen_new(struct noded *d, struct listener **ret_listener, struct err *err)
{
    struct listener *l = calloc(1, sizeof(*l));
    struct server_config sc = {
        .port = d->node->port,
        .bind_addr = conf_option(d->conf, CONF_COMMUNICATION_PARAMETERS, "NoInAddrAny", NULL, NULL)
                         ? d->node->addr
                         : NULL,
        .no_ipv4 = conf_option(d->conf, CONF_COMMUNICATION_PARAMETERS, "DisableIPv4", NULL, NULL),
        .threads = 1,
        .max_connections = MAX_CONNECTIONS,
        .out_limit = OUT_LIMIT,
        .cluster = conf_str(d->conf, CONF_CLUSTER_NAME),
        .keys = d->keys,
        .tls = d->tls,
        .use_munge = conf_use_munge(d->conf),
        .munge_socket = conf_munge_socket(d->conf),
        .munge_ttl_s = conf_munge_ttl_s(d->conf),
        .service = "slurmd",
        .name = d->name,
        .step_keys = true,
        .serves = ACCESS_AT(ACCESS_SLURMD),
        .hooks = { .on_request = on_request,
                   .on_http = on_http,
                   .on_tls = on_tls,
                   .launch_secret = get_launch_secret },
        .ctx = l,
    };
    struct httphealth_config health = {
        .name = "slurmd", .ready = is_ready, .ctx = l, .has_conf = true
    };
    int r;

    if (!l)
        return err_nomem(err);
    l->d = d;
    l->queue_end = &l->queue;
    limit_connections(d, &sc);
    r = remember_used(l, err);
    if (r == 0)
        r = server_new(&sc, &l->server, err);
    if (r == 0)
        r = httphealth_new(&health, &l->health, err);
    if (r == 0 && (uv_mutex_init(&l->lock) < 0 || uv_async_init(&d->loop, &l->wake, on_wake) < 0))
        r = err_nomem(err);
    if (r < 0) {
        (void)httphealth_free(l->health); /* always NULL, as the next two; it asks the server */
        (void)server_free(l->server);
        (void)seen_free(l->seen);
        free(l);
        return r;
    }
    l->wake.data = l;
    l->keys = d->keys ? auth_keys_ref(d->keys) : NULL;
    if (d->has_controller_key)
        listen_set_controller(l, d->controller_key);
    configure_health(l);
    *ret_listener = l;
    return 0;
}

void listen_set_keys(struct listener *l, struct auth_keys *keys)
{
    struct auth_keys *old;

    uv_mutex_lock(&l->lock);
    old = l->keys;
    l->keys = auth_keys_ref(keys);
    uv_mutex_unlock(&l->lock);
    (void)auth_keys_free(old); /* always NULL */
    server_set_auth(l->server, keys, NULL);
    configure_health(l);
}

void listen_set_controller(struct listener *l, const uint8_t key[IDKEY_SIZE])
{
    uint8_t secret[32] = { 0 };
    bool has = l->d->identity && idkey_secret(l->d->identity, key, IDKEY_FOR_LAUNCH, secret) == 0;

    uv_mutex_lock(&l->lock);
    memcpy(l->controller, key, IDKEY_SIZE);
    l->has_controller = true;
    memcpy(l->launch_secret, secret, sizeof(secret));
    l->has_launch_secret = has;
    uv_mutex_unlock(&l->lock);
    explicit_bzero(secret, sizeof(secret));
}

void listen_set_tls(struct listener *l, struct tls_ctx *tls)
{
    server_set_tls(l->server, tls);
}

int listen_start(struct listener *l)
{
    return server_start(l->server);
}

void listen_close(struct listener *l)
{
    server_stop(l->server);
    uv_close((uv_handle_t *)&l->wake, NULL);
}

struct listener *listen_free(struct listener *l)
{
    if (!l)
        return NULL;
    while (l->queue) {
        struct request *rq = l->queue;

        l->queue = rq->next;
        request_free(rq);
    }
    /* Threads of the server bring connections to health, whose thread asks the server. */
    server_stop(l->server);
    (void)httphealth_free(l->health); /* always NULL, as the next two */
    (void)server_free(l->server);
    (void)auth_keys_free(l->keys);
    uv_mutex_destroy(&l->lock);
    l->seen = seen_free(l->seen);
    free(l);
    return NULL;
}
