/* server_hello.c - the server's half of the handshake: who is there, may they come in, and who
 * are we
 *
 * Over TCP both ends prove themselves (handshake.h); from the reply on frames are sealed.  On
 * the local socket the kernel vouches for both.
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

#include "wire/server/launchkey.h"
#include "wire/server/server_impl.h"

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/auth/crypto.h"
#include "wire/errors.h"
#include "wire/auth/handshake.h"
#include "wire/auth/ident.h"

/* An identity being established.  Written by one thread at a time. */
struct check {
    uv_work_t work;
    struct conn *conn; /* referenced */
    Pst__Hello *hello;
    struct auth_keys *keys;     /* referenced; NULL = none */
    struct auth_tokens *tokens; /* likewise */
    uint8_t *bytes;             /* of the handshake; NULL on the local socket */
    size_t len;
    struct handshake proofs;
    bool mutual;      /* proofs are of a secret that both ends know */
    char *credential; /* munge: the secret, for the client alone */
    uint32_t frame_id;
    int code; /* SLURM_OK, or why not */
    uid_t uid;
    gid_t gid;
    gid_t known_gid;         /* vouched by a node: of a user whom other hosts alone know */
    Pst__ClientIdent *ident; /* that the server believes; NULL: none */
    struct err err;          /* detail for the log */
};

static const struct server_config *config_of(const struct check *k)
{
    return &k->conn->worker->server->config;
}

static void check_free(struct check *k)
{
    if (k->hello)
        pst__hello__free_unpacked(k->hello, NULL);
    (void)auth_keys_free(k->keys);     /* always NULL */
    (void)auth_tokens_free(k->tokens); /* likewise */
    explicit_bzero(&k->proofs, sizeof(k->proofs));
    if (k->ident)
        pst__client_ident__free_unpacked(k->ident, NULL);
    free(k->bytes);
    free(k->credential);
    (void)conn_unref(k->conn); /* always NULL */
    free(k);
}

static void refuse_hello(struct check *k, int code, const char *detail)
{
    k->code = code;
    (void)err_set(&k->err, 0, "%s", detail); /* kept for the log */
}

/* ---- the ways to prove an identity ----------------------------------------------------------- */

static void check_peercred(struct check *k)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (!k->conn->local || getsockopt(k->conn->link.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
        refuse_hello(k, EPST_AUTH, "the kernel vouches on the local socket only");
        return;
    }
    k->uid = cred.uid;
    k->gid = cred.gid;
    k->hello->has_pid = true;
    k->hello->pid = (uint32_t)cred.pid;
}

/* Did the client make its proof with this secret? */
static int try_secret(struct check *k, const uint8_t secret[HANDSHAKE_SECRET_SIZE])
{
    const ProtobufCBinaryData *proof = &k->hello->proof;
    int r = handshake_derive(secret, k->bytes, k->len, &k->proofs);

    if (r < 0)
        return r;
    if (proof->len != AUTH_MAC_SIZE ||
        !crypto_equal(proof->data, k->proofs.client_proof, AUTH_MAC_SIZE))
        return -EACCES;
    k->mutual = true;
    return 0;
}

static void refuse_proof(struct check *k, int r)
{
    refuse_hello(k, EPST_AUTH,
                 r == -ENOKEY   ? "unknown key name"
                 : r == -EACCES ? "wrong key"
                                : strerror(-r));
}

/* A secret that is derived from the key that the client names. */
static void check_derived(struct check *k, const char *label, const ProtobufCBinaryData *data)
{
    uint8_t secret[AUTH_MAC_SIZE];
    int r;

    if (!k->keys || !k->hello->key_id) {
        refuse_hello(k, EPST_AUTH, k->keys ? "incomplete proof" : "this server has no key");
        return;
    }
    r = auth_derive(k->keys, k->hello->key_id, label, data->data, data->len, secret, NULL);
    if (r == 0)
        r = try_secret(k, secret);
    explicit_bzero(secret, sizeof(secret));
    if (r < 0)
        refuse_proof(k, r);
}

static void check_key(struct check *k)
{
    const Pst__Hello *h = k->hello;

    check_derived(k, AUTH_FOR_HELLO, &(ProtobufCBinaryData){ 0 });
    if (!h->has_uid || !h->has_gid)
        refuse_hello(k, EPST_AUTH, "incomplete proof");
    k->uid = h->uid;
    k->gid = h->gid;
}

/* Whoever has a step's credential and the key that came with it.  Who that is the credential
 * says. */
static void check_step(struct check *k)
{
    const ProtobufCBinaryData *mac = &k->hello->token;
    uint8_t key[AUTH_MAC_SIZE];
    int r;

    k->uid = (uid_t)-1;
    k->gid = (gid_t)-1;
    if (!config_of(k)->step_keys || mac->len != AUTH_MAC_SIZE || !k->hello->key_id) {
        refuse_hello(k, EPST_AUTH, "keys of steps are for slurmd");
        return;
    }
    r = conn_launch_key(config_of(k), k->keys, k->hello->key_id, mac->data, key);
    if (r == 0)
        r = try_secret(k, key);
    explicit_bzero(key, sizeof(key));
    if (r < 0)
        refuse_proof(k, r);
}

/* A node, by its own key.  One that we do not know must have the cluster's key as well, and may
 * then register: its key is bound to its name there. */
static void check_node(struct check *k)
{
    const struct server_config *config = config_of(k);
    const Pst__Hello *h = k->hello;
    bool enrols = h->key_id && h->key_id[0];
    uint8_t secret[HANDSHAKE_SECRET_SIZE], other[AUTH_MAC_SIZE];
    int r;

    k->uid = (uid_t)-1;
    k->gid = (gid_t)-1;
    if (!config->identity || !config->hooks.knows_node || h->token.len != IDKEY_SIZE) {
        refuse_hello(k, EPST_AUTH, "keys of nodes are for slurmctld");
        return;
    }
    if (!enrols && !config->hooks.knows_node(config->ctx, h->token.data)) {
        char text[IDKEY_TEXT], why[IDKEY_TEXT + 80];

        idkey_text(h->token.data, text);
        (void)snprintf(why, sizeof(why),
                       "no node has the key %s (scontrol update NodeName= NodeKey=)", text);
        refuse_hello(k, EPST_AUTH, why);
        return;
    }
    r = idkey_secret(config->identity, h->token.data, IDKEY_FOR_HELLO, secret);
    if (r == 0 && enrols) {
        r = k->keys ? auth_derive(k->keys, h->key_id, AUTH_FOR_HELLO, NULL, 0, other, NULL)
                    : -ENOKEY;
        if (r == 0)
            idkey_mix(secret, other);
        explicit_bzero(other, sizeof(other));
    }
    if (r == 0)
        r = try_secret(k, secret);
    explicit_bzero(secret, sizeof(secret));
    if (r < 0)
        refuse_proof(k, r);
}

/* A node without the cluster's key vouches for its own users. */
static int find_vouching_node(struct check *k, uint8_t secret[HANDSHAKE_SECRET_SIZE])
{
    const struct server_config *config = config_of(k);
    const Pst__Hello *h = k->hello;

    if (!config->identity || !config->hooks.knows_node || !config->hooks.may_vouch ||
        h->token.len != IDKEY_SIZE || !config->hooks.knows_node(config->ctx, h->token.data))
        return -ENOKEY;
    return idkey_secret(config->identity, h->token.data, IDKEY_FOR_VOUCH, secret);
}

/* A daemon of the client's host saw the client's uid.  With the cluster's key it may vouch for
 * everybody, with a node's own key for those who have a job there: whether that is so is said after
 * the proof alone. */
static void check_vouch(struct check *k)
{
    const struct server_config *config = config_of(k);
    const Pst__Hello *h = k->hello;
    bool by_node = !(h->key_id && h->key_id[0]);
    uint8_t secret[HANDSHAKE_SECRET_SIZE];
    int r;

    if (!h->has_uid || !h->has_gid || h->uid == (uint32_t)-1) {
        refuse_hello(k, EPST_AUTH, "incomplete proof");
        return;
    }
    if (by_node)
        r = find_vouching_node(k, secret);
    else
        r = k->keys ? auth_derive(k->keys, h->key_id, AUTH_FOR_VOUCH, NULL, 0, secret, NULL)
                    : -ENOKEY;
    if (r == 0)
        r = try_secret(k, secret);
    explicit_bzero(secret, sizeof(secret));
    if (r < 0)
        refuse_proof(k, r);
    else if (by_node && !config->hooks.may_vouch(config->ctx, h->token.data, h->uid, &k->known_gid))
        refuse_hello(k, EPST_AUTH, "this node may not vouch for this user");
    k->uid = h->uid;
    k->gid = h->gid;
}

static bool is_node_vouched(const Pst__Hello *h)
{
    return h->method == PST__AUTH_METHOD__AUTH_VOUCH && !(h->key_id && h->key_id[0]);
}

static bool has_group(const char *user, gid_t primary, gid_t gid)
{
    _cleanup_free_ gid_t *gids = NULL;
    size_t n = 0;

    if (groups_of(user, primary, &gids, &n, NULL) < 0)
        return false;
    while (n && gids[n - 1] != gid)
        n--;
    return n > 0;
}

/* A node may speak for its users, but gives them no group: root there would have a user's job run
 * with any group elsewhere.  Whom this host does not know has the group that he came with when the
 * job was submitted which he has on the node.  May block. */
static void settle_group(struct check *k)
{
    struct passwd pw, *found = NULL;
    char buf[16384];

    if (getpwuid_r(k->uid, &pw, buf, sizeof(buf), &found) != 0 || !found)
        k->gid = k->known_gid;
    else if (k->gid != pw.pw_gid && !has_group(pw.pw_name, pw.pw_gid, k->gid))
        k->gid = pw.pw_gid;
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

static bool takes_tokens(struct check *k)
{
    if (!k->tokens)
        refuse_hello(k, EPST_AUTH, "tokens are not taken here (AuthAltTypes)");
    return k->tokens;
}

/* What looking at the token gave, and whom it names, which is freed. */
static void take_user(struct check *k, int r, struct jwt_user *user)
{
    if (r < 0) {
        k->code = r == -EKEYEXPIRED ? (int)ESLURM_AUTH_EXPIRED : (int)EPST_AUTH;
    } else if (user->has_ids) {
        k->uid = user->uid;
        k->gid = user->gid;
    } else if (find_user(user->name, &k->uid, &k->gid) < 0) {
        refuse_hello(k, EPST_AUTH, "the token's user is unknown here");
    }
    free(user->name);
}

static void check_jwt(struct check *k)
{
    const ProtobufCBinaryData *token = &k->hello->token;
    uint8_t signatures[AUTH_KEY_MAX][AUTH_MAC_SIZE];
    struct jwt_user user = { .name = NULL };
    size_t n = 0;
    int r;

    if (!takes_tokens(k))
        return;
    r = auth_tokens_signatures(k->tokens, (const char *)token->data, token->len, signatures, &n,
                               &k->err);
    for (size_t i = 0; i < n && !k->mutual && r == 0; i++)
        if (try_secret(k, signatures[i]) < 0 && i + 1 == n)
            r = err_set(&k->err, -EACCES, "token: not signed with a key of this cluster");
    explicit_bzero(signatures, sizeof(signatures));
    if (r == 0)
        r = auth_tokens_user(k->tokens, (const char *)token->data, token->len, now_us(), &user,
                             &k->err);
    take_user(k, r, &user);
}

/* A token that a public key verifies.  It came whole, so that whoever reads it could use it: the
 * local socket alone is private enough. */
static void check_bearer(struct check *k)
{
    const ProtobufCBinaryData *token = &k->hello->token;
    struct jwt_user user = { .name = NULL };

    if (!k->conn->local)
        refuse_hello(k, EPST_AUTH, "whole tokens are for the local socket");
    else if (takes_tokens(k))
        take_user(k,
                  auth_tokens_verify(k->tokens, (const char *)token->data, token->len, now_us(),
                                     &user, &k->err),
                  &user);
}

/* The user to act for instead, whom root and SlurmUser may name. */
static void check_act_as(struct check *k)
{
    const char *name = k->hello->act_as;
    uid_t uid = k->uid;

    if (k->code != SLURM_OK || !name)
        return;
    if (find_user(name, &k->uid, &k->gid) < 0)
        refuse_hello(k, EPST_AUTH, "the user to act for is unknown here");
    else if (uid != 0 && uid != config_of(k)->slurm_uid && uid != k->uid)
        refuse_hello(k, EPST_AUTH, "only root and SlurmUser act for others");
}

/* Our half with munge: a fresh secret behind the handshake's bytes, which the client alone may
 * open. */
static int make_credential(struct check *k)
{
    const char *socket = config_of(k)->munge_socket;
    _cleanup_free_ uint8_t *payload = malloc(k->len + HANDSHAKE_SECRET_SIZE);
    uint8_t *secret = payload + k->len;
    int r = payload ? auth_random(secret, HANDSHAKE_SECRET_SIZE) : -ENOMEM;

    if (r < 0)
        return err_set(&k->err, r, "%s", strerror(-r));
    memcpy(payload, k->bytes, k->len);
    r = auth_munge_encode_for(socket, config_of(k)->munge_ttl_s, k->uid, payload,
                              k->len + HANDSHAKE_SECRET_SIZE, &k->credential, &k->err);
    if (r == 0)
        r = handshake_derive(secret, k->bytes, k->len, &k->proofs);
    explicit_bzero(secret, HANDSHAKE_SECRET_SIZE);
    k->mutual = r == 0;
    return r;
}

static void check_munge(struct check *k)
{
    const struct server_config *config = config_of(k);
    _cleanup_free_ char *cred = NULL;
    _cleanup_free_ void *payload = NULL;
    size_t len = 0;
    int r;

    if (!config->use_munge) {
        refuse_hello(k, EPST_AUTH, "munge is not configured (AuthType)");
        return;
    }
    cred = strndup((const char *)k->hello->proof.data, k->hello->proof.len);
    if (!cred) {
        refuse_hello(k, EPST_BUSY, ERR_NOMEM);
        return;
    }
    r = auth_munge_decode(config->munge_socket, cred, &k->uid, &k->gid, &payload, &len, &k->err);
    if (r == 0 && (len != k->len || memcmp(payload, k->bytes, len) != 0)) {
        refuse_hello(k, EPST_AUTH, "the munge credential was made for another connection");
        return;
    }
    if (r == 0)
        r = make_credential(k);
    if (r < 0)
        k->code = r == -EKEYEXPIRED ? (int)ESLURM_AUTH_EXPIRED : (int)EPST_AUTH;
}

/* ---- the course of it ------------------------------------------------------------------------ */

/* On the local socket, where frames need no tags. */
static bool is_unsealed(const Pst__Hello *h)
{
    return h->method == PST__AUTH_METHOD__AUTH_PEERCRED ||
           h->method == PST__AUTH_METHOD__AUTH_BEARER;
}

static void note_peer(struct check *k)
{
    struct peer *p = &k->conn->peer;
    const Pst__Hello *h = k->hello;

    p->uid = k->uid;
    p->gid = k->gid;
    p->method = (unsigned)h->method;
    p->pid = h->pid;
    if (h->method == PST__AUTH_METHOD__AUTH_STEP)
        memcpy(p->step_mac, h->token.data, sizeof(p->step_mac)); /* its size was checked */
    p->node_vouched = is_node_vouched(h);
    if (h->method == PST__AUTH_METHOD__AUTH_NODE || p->node_vouched)
        memcpy(p->node_key, h->token.data, sizeof(p->node_key)); /* likewise */
    p->node_enrols = h->method == PST__AUTH_METHOD__AUTH_NODE && h->key_id && h->key_id[0];
    (void)snprintf(p->host, sizeof(p->host), "%s", h->host ? h->host : ""); /* cut is fine */
    (void)snprintf(p->program, sizeof(p->program), "%s",
                   h->program ? h->program : ""); /* likewise */
}

/* Of whom has the cluster's key: who could be anybody may say who that is.  Root is root here. */
static void check_ident(struct check *k)
{
    const Pst__Hello *h = k->hello;
    bool by_key =
        h->key_id && h->key_id[0] &&
        (h->method == PST__AUTH_METHOD__AUTH_KEY || h->method == PST__AUTH_METHOD__AUTH_VOUCH);

    if (k->code != SLURM_OK || !h->identity.len)
        return;
    if (!by_key)
        refuse_hello(k, EPST_AUTH, "who has no key of the cluster tells no identity");
    else if (k->uid != 0 && ident_read(h->identity.data, h->identity.len, &k->ident) < 0)
        refuse_hello(k, EPST_AUTH, "malformed identity of a user");
}

/* Frames carry tags from now on.  A step's connection is handed over after the one request that
 * is sealed. */
static int seal_link(struct check *k)
{
    bool step = k->hello->method == PST__AUTH_METHOD__AUTH_STEP;
    struct seal *in = NULL, *out = NULL;
    int r = seal_new(k->proofs.to_server, &in);

    if (r == 0 && !step)
        r = seal_new(k->proofs.to_client, &out);
    if (r < 0)
        in = seal_free(in);
    else
        link_seal_take(&k->conn->link, in, out);
    return r;
}

static void answer_hello(struct check *k)
{
    struct conn *c = k->conn;
    Pst__HelloReply reply = PST__HELLO_REPLY__INIT;

    reply.has_uid = true;
    reply.uid = k->uid;
    reply.cluster = c->worker->server->cluster;
    reply.credential = k->credential;
    if (k->mutual) {
        reply.has_proof = true;
        reply.proof = (ProtobufCBinaryData){ AUTH_MAC_SIZE, k->proofs.server_proof };
    }
    (void)conn_reply(c, OP_HELLO, k->frame_id, 0, &reply.base); /* lost: the peer sees no answer */
    if (k->mutual && seal_link(k) < 0)
        link_close(&c->link, ERR_NOMEM);
}

/* On the connection's thread: let in or send away.  Frees k. */
static void decide_hello(struct check *k)
{
    struct conn *c = k->conn;
    struct frame f = { .op = OP_HELLO, .id = k->frame_id };

    if (c->link.closing) {
        check_free(k);
        return;
    }
    check_ident(k);
    if (k->code != SLURM_OK) {
        char detail[256];

        log_limited(LOG_INFO, "connection refused: %s: %s addr=%s", slurm_err_text(k->code),
                    log_quote(k->err.text, detail, sizeof(detail)), c->peer.addr);
        c->state = CONN_NEW;
        conn_refuse(c, &f, k->code, NULL);
        c->link.why[0] = '\0'; /* logged here, with the detail */
        check_free(k);
        return;
    }
    note_peer(k);
    c->ident = TAKE_PTR(k->ident);
    answer_hello(k);
    conn_open(c);
    check_free(k);
}

/* The ways to prove an identity, by their numbers. */
static const struct way {
    void (*check)(struct check *k);
    bool blocks; /* munged or the name service is asked */
    bool acts;   /* a person came this way, who may be root or SlurmUser */
} ways[] = {
    [PST__AUTH_METHOD__AUTH_PEERCRED] = { check_peercred, false, true },
    [PST__AUTH_METHOD__AUTH_KEY] = { check_key, false, true },
    [PST__AUTH_METHOD__AUTH_VOUCH] = { check_vouch, false, true },
    [PST__AUTH_METHOD__AUTH_JWT] = { check_jwt, true, true },
    [PST__AUTH_METHOD__AUTH_BEARER] = { check_bearer, true, true },
    [PST__AUTH_METHOD__AUTH_MUNGE] = { check_munge, true, true },
    [PST__AUTH_METHOD__AUTH_NODE] = { check_node, false, false },
    [PST__AUTH_METHOD__AUTH_STEP] = { check_step, false, false },
};

static const struct way *find_way(const Pst__Hello *h)
{
    size_t i = (size_t)h->method;

    return h->method >= 0 && i < ARRAY_SIZE(ways) && ways[i].check ? &ways[i] : NULL;
}

static void in_background(uv_work_t *work)
{
    struct check *k = work->data;
    const struct way *way = find_way(k->hello);

    if (way->blocks)
        way->check(k);
    if (k->code == SLURM_OK && is_node_vouched(k->hello))
        settle_group(k);
    check_act_as(k);
}

static void after_background(uv_work_t *work, int status)
{
    struct check *k = work->data;
    struct conn *c = conn_ref(k->conn);
    struct link_loop *ll = &c->worker->ll;

    if (status < 0)
        refuse_hello(k, EPST_SHUTTING_DOWN, "shutting down");
    link_batch_begin(ll);
    decide_hello(k);
    if (c->state == CONN_OPEN)
        link_pause(&c->link, false);
    link_batch_end(ll);
    (void)conn_unref(c); /* always NULL */
}

static void go_on_in_background(struct check *k)
{
    struct conn *c = k->conn;

    c->state = CONN_AUTH;
    if (uv_queue_work(&c->worker->loop, &k->work, in_background, after_background) < 0) {
        refuse_hello(k, EPST_BUSY, "no worker");
        decide_hello(k);
    }
}

/* Did the client mean us?  What it said is covered by its proof, so that nobody passes it on to
 * another. */
static int check_service(struct check *k, char *text, size_t size)
{
    const Pst__Hello *h = k->hello;
    const char *service = config_of(k)->service, *name = k->conn->worker->server->name;

    if (is_unsealed(h))
        return 0;
    if (h->nonce.len != AUTH_NONCE_SIZE || !h->service)
        (void)snprintf(text, size,
                       "The client does not ask who the server is: its release is too old");
    else if (service && strcmp(service, h->service) != 0)
        (void)snprintf(text, size, "Wrong service: this is %.32s, not %.32s", service, h->service);
    else if (name[0] && (!h->name || strcmp(name, h->name) != 0))
        (void)snprintf(text, size, "Wrong node: this is %.60s, not %.60s", name,
                       h->name ? h->name : "");
    else
        return 0;
    return -EPROTO;
}

/* Version, service and cluster fit? */
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
        refuse_hello(k, EPST_VERSION, text);
    } else if (cluster && cluster[0] && h->cluster && h->cluster[0] &&
               strcasecmp(cluster, h->cluster) != 0) {
        (void)snprintf(text, sizeof(text), "Wrong cluster: this is %.60s, not %.60s", cluster,
                       h->cluster);
        refuse_hello(k, ESLURM_INVALID_CLUSTER_NAME, text);
    } else if (check_service(k, text, sizeof(text)) < 0) {
        refuse_hello(k, EPST_AUTH, text);
    } else {
        k->conn->peer.version = (uint16_t)MIN(h->version, (uint32_t)WIRE_VERSION);
        return 0;
    }
    return -EPROTO;
}

/* Keys and what else a reconfiguration may change meanwhile. */
static void take_auth(struct check *k)
{
    struct server *s = k->conn->worker->server;

    pthread_mutex_lock(&s->auth_lock);
    k->keys = s->config.keys ? auth_keys_ref(s->config.keys) : NULL;
    k->tokens = s->config.tokens ? auth_tokens_ref(s->config.tokens) : NULL;
    pthread_mutex_unlock(&s->auth_lock);
}

static struct check *check_new(struct conn *c, const struct frame *frame)
{
    struct check *k = calloc(1, sizeof(*k));

    if (!k)
        return NULL;
    k->conn = conn_ref(c);
    k->work.data = k;
    k->frame_id = frame->id;
    take_auth(k);
    if (FRAME_UNPACK(hello, frame, &k->hello, NULL) < 0) {
        check_free(k);
        return NULL;
    }
    return k;
}

/* Check the identity, here or in the background, and decide.  Frees k. */
static void check_way(struct check *k)
{
    const struct way *way = find_way(k->hello);
    bool acts = k->hello->act_as != NULL;

    if (!way)
        refuse_hello(k, EPST_AUTH, "unknown method");
    else if (acts && !way->acts)
        refuse_hello(k, EPST_AUTH, "a node or a step acts for nobody");
    else if (!way->blocks)
        way->check(k);
    if (k->code == SLURM_OK && (way->blocks || acts || is_node_vouched(k->hello)))
        go_on_in_background(k);
    else
        decide_hello(k);
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
    if (!is_unsealed(k->hello) && handshake_bytes(c->nonce, k->hello, &k->bytes, &k->len) < 0) {
        conn_refuse(c, frame, EPST_BUSY, NULL);
        check_free(k);
        return;
    }
    check_way(k);
}
