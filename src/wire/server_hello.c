/* server_hello.c - the server's half of the handshake: who is there, and may they come in
 *
 * Runs on the connection's thread.  What may block (munged, the name service) runs on libuv's
 * worker threads with a copy of the Hello; the connection is not read meanwhile and is kept by a
 * reference. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "wire/server_impl.h"

#include "api.pb-c.h"

#include "base/log.h"
#include "base/timefmt.h"
#include "wire/errors.h"

/* An identity being established.  Written by one thread at a time. */
struct check {
    uv_work_t work;
    struct conn *conn; /* referenced */
    Pst__Hello *hello;
    uint32_t frame_id;
    int code; /* SLURM_OK, or why not */
    uid_t uid;
    gid_t gid;
    struct err err; /* detail for the log */
};

static const struct server_config *config_of(const struct check *k)
{
    return &k->conn->worker->server->config;
}

static void check_free(struct check *k)
{
    if (k->hello) {
        if (k->hello->proof.data)
            explicit_bzero(k->hello->proof.data, k->hello->proof.len); /* a token is a secret */
        protobuf_c_message_free_unpacked(&k->hello->base, NULL);
    }
    (void)conn_unref(k->conn); /* always NULL */
    free(k);
}

static void refuse(struct check *k, int code, const char *detail)
{
    k->code = code;
    (void)err_set(&k->err, 0, "%s", detail); /* kept for the log */
}

/* ---- the ways to prove an identity ---- */

static void check_peercred(struct check *k)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (!k->conn->local || getsockopt(k->conn->link.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
        refuse(k, EPST_AUTH, "the kernel vouches on the local socket only");
        return;
    }
    k->uid = cred.uid;
    k->gid = cred.gid;
    k->hello->has_pid = true;
    k->hello->pid = (uint32_t)cred.pid;
}

static void check_key(struct check *k)
{
    const Pst__Hello *h = k->hello;
    const struct auth_keys *keys = config_of(k)->keys;
    int r;

    if (!keys || !h->key_id || !h->has_uid || !h->has_gid) {
        refuse(k, EPST_AUTH, keys ? "incomplete proof" : "this server has no key");
        return;
    }
    r = auth_hello_verify(keys, h->key_id, k->conn->nonce, h->uid, h->gid, h->cluster,
                          h->proof.data, h->proof.len);
    if (r < 0) {
        refuse(k, EPST_AUTH,
               r == -ENOKEY   ? "unknown key name"
               : r == -EACCES ? "wrong key"
                              : strerror(-r));
        return;
    }
    k->uid = h->uid;
    k->gid = h->gid;
}

static int find_user(const char *name, uid_t *ret_uid, gid_t *ret_gid)
{
    struct passwd pw, *found = NULL;
    char buf[16384];

    if (getpwnam_r(name, &pw, buf, sizeof(buf), &found) != 0 || !found)
        return -ENOENT;
    *ret_uid = pw.pw_uid;
    *ret_gid = pw.pw_gid;
    return 0;
}

static void check_jwt(struct check *k)
{
    const struct auth_keys *keys = config_of(k)->keys;
    _cleanup_free_ char *user = NULL;
    int r;

    if (!keys) {
        refuse(k, EPST_AUTH, "this server has no key");
        return;
    }
    r = auth_jwt_verify(keys, (const char *)k->hello->proof.data, k->hello->proof.len, now_us(),
                        &user, &k->err);
    if (r < 0)
        k->code = r == -EKEYEXPIRED ? (int)ESLURM_AUTH_EXPIRED : (int)EPST_AUTH;
    else if (find_user(user, &k->uid, &k->gid) < 0)
        refuse(k, EPST_AUTH, "the token's user is unknown here");
}

static void check_munge(struct check *k)
{
    const struct server_config *config = config_of(k);
    _cleanup_free_ char *cred = NULL;
    _cleanup_free_ void *payload = NULL;
    size_t len = 0;
    int r;

    if (!config->use_munge) {
        refuse(k, EPST_AUTH, "munge is not configured (AuthType)");
        return;
    }
    cred = strndup((const char *)k->hello->proof.data, k->hello->proof.len);
    if (!cred) {
        refuse(k, EPST_BUSY, "out of memory");
        return;
    }
    r = auth_munge_decode(config->munge_socket, cred, &k->uid, &k->gid, &payload, &len, &k->err);
    if (r < 0)
        k->code = r == -EKEYEXPIRED ? (int)ESLURM_AUTH_EXPIRED : (int)EPST_AUTH;
    else if (len != AUTH_NONCE_SIZE || memcmp(payload, k->conn->nonce, AUTH_NONCE_SIZE) != 0)
        refuse(k, EPST_AUTH, "the munge credential was made for another connection");
}

/* ---- the course of it ---- */

static void note_peer(struct check *k)
{
    struct peer *p = &k->conn->peer;
    const Pst__Hello *h = k->hello;

    p->uid = k->uid;
    p->gid = k->gid;
    p->method = (unsigned)h->method;
    p->pid = h->pid;
    (void)snprintf(p->host, sizeof(p->host), "%s", h->host ? h->host : ""); /* cut is fine */
    (void)snprintf(p->program, sizeof(p->program), "%s",
                   h->program ? h->program : ""); /* likewise */
}

/* On the connection's thread: let in or send away.  Frees k. */
static void decide(struct check *k)
{
    struct conn *c = k->conn;
    struct frame f = { .op = OP_HELLO, .id = k->frame_id };
    Pst__HelloReply reply = PST__HELLO_REPLY__INIT;

    if (c->link.closing) {
        check_free(k);
        return;
    }
    if (k->code != SLURM_OK) {
        char detail[256];

        log_info("connection refused: %s: %s addr=%s", slurm_err_text(k->code),
                 log_quote(k->err.text, detail, sizeof(detail)), c->peer.addr);
        c->state = CONN_NEW;
        conn_refuse(c, &f, k->code, NULL);
        c->link.why[0] = '\0'; /* logged here, with the detail */
        check_free(k);
        return;
    }
    note_peer(k);
    reply.has_uid = true;
    reply.uid = k->uid;
    reply.cluster = c->worker->server->cluster;
    (void)conn_reply(c, OP_HELLO, k->frame_id, 0, &reply.base); /* lost: the peer sees no answer */
    conn_open(c);
    check_free(k);
}

static void in_background(uv_work_t *work)
{
    struct check *k = work->data;

    if (k->hello->method == PST__AUTH_METHOD__AUTH_JWT)
        check_jwt(k);
    else
        check_munge(k);
}

static void after_background(uv_work_t *work, int status)
{
    struct check *k = work->data;
    struct conn *c = conn_ref(k->conn);
    struct link_loop *ll = &c->worker->ll;

    if (status < 0)
        refuse(k, EPST_SHUTTING_DOWN, "shutting down");
    link_batch_begin(ll);
    decide(k);
    if (c->state == CONN_OPEN)
        link_pause(&c->link, false);
    link_batch_end(ll);
    (void)conn_unref(c); /* always NULL */
}

/* Version and cluster fit? */
static int check_terms(struct check *k)
{
    const Pst__Hello *h = k->hello;
    const char *cluster = k->conn->worker->server->cluster;
    char text[160];

    if (!h->has_version || h->version < WIRE_VERSION_MIN) {
        (void)snprintf(
            text, sizeof(text),
            "Protocol version %u of the client is too old, this server understands %u to %u",
            h->has_version ? h->version : 0, WIRE_VERSION_MIN, WIRE_VERSION);
        refuse(k, EPST_VERSION, text);
    } else if (cluster && cluster[0] && h->cluster && h->cluster[0] &&
               strcasecmp(cluster, h->cluster) != 0) {
        (void)snprintf(text, sizeof(text), "Wrong cluster: this is %.60s, not %.60s", cluster,
                       h->cluster);
        refuse(k, ESLURM_INVALID_CLUSTER_NAME, text);
    } else {
        k->conn->peer.version = (uint16_t)MIN(h->version, (uint32_t)WIRE_VERSION);
        return 0;
    }
    return -EPROTO;
}

static struct check *check_new(struct conn *c, const struct frame *frame)
{
    struct check *k = calloc(1, sizeof(*k));

    if (!k)
        return NULL;
    k->conn = conn_ref(c);
    k->work.data = k;
    k->frame_id = frame->id;
    if (FRAME_UNPACK(hello, frame, &k->hello, NULL) < 0) {
        check_free(k);
        return NULL;
    }
    return k;
}

void conn_hello(struct conn *c, const struct frame *frame)
{
    struct check *k = check_new(c, frame);

    if (!k) {
        conn_refuse(c, frame, EPST_BAD_REQUEST, NULL);
        return;
    }
    if (check_terms(k) < 0) {
        conn_refuse(c, frame, k->code, k->err.text);
        check_free(k);
        return;
    }
    switch ((int)k->hello->method) {
    case PST__AUTH_METHOD__AUTH_PEERCRED:
        check_peercred(k);
        decide(k);
        break;
    case PST__AUTH_METHOD__AUTH_KEY:
        check_key(k);
        decide(k);
        break;
    case PST__AUTH_METHOD__AUTH_JWT:
    case PST__AUTH_METHOD__AUTH_MUNGE:
        c->state = CONN_AUTH;
        if (uv_queue_work(&c->worker->loop, &k->work, in_background, after_background) < 0) {
            refuse(k, EPST_BUSY, "no worker");
            decide(k);
        }
        break;
    default:
        refuse(k, EPST_AUTH, "unknown method");
        decide(k);
    }
}
