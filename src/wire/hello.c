/* hello.c - the caller's half of the handshake
 *
 * Owns nothing; any thread.  What the server's half checks: server_hello.c. */
#include "wire/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "version.h"
#include "wire/auth/crypto.h"
#include "wire/auth/idkey.h"
#include "wire/auth/ident.h"
#include "wire/auth/jwt.h"
#include "wire/auth/vouch.h"
#include "wire/tls/tls.h"

#define PROGRAM_MAX 31
#define LAUNCH_TLS "PSTK launch tls 1"

static bool has_text(const char *s)
{
    return s && s[0];
}

static int choose_key(const struct client_target *target, struct auth_keys **ret_keys,
                      struct err *err)
{
    int r = has_text(target->key_file) ? auth_keys_load(target->key_file, ret_keys, err) : -ENOENT;

    if (r == -ENOENT || r == -EACCES)
        return err_set(
            err, -EACCES,
            "Invalid authentication credential: no token in SLURM_JWT, no munge, no daemon "
            "at sack.socket, and the key file %s%s",
            has_text(target->key_file) ? target->key_file : "is not configured",
            !has_text(target->key_file) ? ""
            : r == -ENOENT              ? " does not exist"
                                        : " is not readable");
    return r;
}

/* A token whose signature both ends can make is never sent; another one is, to this machine's
 * daemon alone. */
static int choose_token(const struct client_target *target, bool local, unsigned *ret_method,
                        struct err *err)
{
    bool shared = jwt_is_shared(target->jwt);

    if (!shared && !local)
        return err_set(
            err, -EACCES,
            "Invalid authentication credential: a token of a public key (RS256, ES256) is "
            "shown on the local socket alone, and no %s answers there",
            target->service ? target->service : "slurmctld");
    *ret_method = shared ? PST__AUTH_METHOD__AUTH_JWT : PST__AUTH_METHOD__AUTH_BEARER;
    return 0;
}

int hello_choose(const struct client_target *target, bool local, unsigned *ret_method,
                 struct auth_keys **ret_keys, struct err *err)
{
    int r;

    if (target->credential)
        *ret_method = PST__AUTH_METHOD__AUTH_STEP;
    else if (target->identity && target->controller_key) {
        *ret_method = PST__AUTH_METHOD__AUTH_NODE;
        r = has_text(target->key_file) ? auth_keys_load(target->key_file, ret_keys, err) : -ENOENT;
        return r == -ENOENT || r == -EACCES ? 0 : r; /* its own key is enough */
    } else if (has_text(target->jwt))
        return choose_token(target, local, ret_method, err);
    else if (local)
        *ret_method = PST__AUTH_METHOD__AUTH_PEERCRED;
    else if (target->use_munge)
        *ret_method = PST__AUTH_METHOD__AUTH_MUNGE;
    else {
        r = choose_key(target, ret_keys, err);
        if (r == -EACCES && !target->identity && vouch_may_ask()) {
            if (err)
                err->text[0] = '\0';
            *ret_method = PST__AUTH_METHOD__AUTH_VOUCH;
            return 0;
        }
        if (r < 0)
            return r;
        *ret_method = PST__AUTH_METHOD__AUTH_KEY;
    }
    return 0;
}

bool hello_may_local(const struct client_target *target)
{
    return !has_text(target->jwt) || !jwt_is_shared(target->jwt);
}

int hello_version(const Pst__Challenge *challenge, uint16_t *ret_version, struct err *err)
{
    uint32_t min = challenge->min_version, max = challenge->max_version;
    uint32_t speak = max < WIRE_VERSION ? max : WIRE_VERSION;

    if (speak < WIRE_VERSION_MIN || speak < min)
        return err_set(
            err, -EPROTO,
            "Protocol version: the controller (%.32s) speaks %u to %u, this program %u to %u",
            challenge->release ? challenge->release : "release unknown", min, max, WIRE_VERSION_MIN,
            WIRE_VERSION);
    *ret_version = (uint16_t)speak;
    return 0;
}

int hello_bind(const struct tls *tls, uint8_t nonce[AUTH_NONCE_SIZE])
{
    uint8_t binding[TLS_BINDING_SIZE];
    int r = tls_binding(tls, binding);

    if (r == 0)
        handshake_bind(nonce, binding, sizeof(binding));
    return r;
}

void hello_launch_tls(const uint8_t launch_key[HANDSHAKE_SECRET_SIZE],
                      uint8_t ret_key[HANDSHAKE_SECRET_SIZE])
{
    crypto_hmac(launch_key, HANDSHAKE_SECRET_SIZE, LAUNCH_TLS, strlen(LAUNCH_TLS), ret_key);
}

/* The name of the key that the launch key comes from. */
static const char *launch_kid(const struct client_target *target)
{
    return target->node_launch ? IDKEY_LAUNCH_KID : target->credential->key_id;
}

void client_set_launch(struct client_target *target, const ProtobufCBinaryData *of_step,
                       const ProtobufCBinaryData *of_node)
{
    target->node_launch = of_node->len > 0;
    target->launch_key = target->node_launch ? *of_node : *of_step;
}

int hello_tls_key(const struct client_target *target, uint8_t *ret_id, size_t *ret_len,
                  uint8_t ret_key[HANDSHAKE_SECRET_SIZE])
{
    const Pst__SignedCredential *cred = target->credential;
    const char *kid = launch_kid(target);
    size_t n = kid ? strlen(kid) : 0;

    if (!n || cred->mac.len != AUTH_MAC_SIZE || target->launch_key.len != HANDSHAKE_SECRET_SIZE)
        return -EACCES;
    if (AUTH_MAC_SIZE + n > TLS_ID_MAX)
        return -EINVAL;
    memcpy(mempcpy(ret_id, cred->mac.data, AUTH_MAC_SIZE), kid, n);
    *ret_len = AUTH_MAC_SIZE + n;
    hello_launch_tls(target->launch_key.data, ret_key);
    return 0;
}

void hello_sent_done(struct hello_sent *sent)
{
    free(sent->bytes);
    explicit_bzero(sent, sizeof(*sent));
}

/* A token's signature is the secret; what is before it is shown. */
static int split_token(const char *token, size_t *ret_shown, uint8_t secret[HANDSHAKE_SECRET_SIZE],
                       struct err *err)
{
    uint8_t signature[JWT_SIGNATURE_MAX];
    size_t len = 0;
    int r = jwt_signature(token, strlen(token), signature, &len, ret_shown, err);

    if (r == 0 && len != HANDSHAKE_SECRET_SIZE)
        r = err_set(err, -EINVAL, "token: malformed signature");
    if (r == 0)
        memcpy(secret, signature, HANDSHAKE_SECRET_SIZE);
    explicit_bzero(signature, sizeof(signature));
    return r;
}

/* What the node's key and the controllers' have in common; with the cluster's key, where the node
 * has it, so that a controller that does not know the node's key may take it on. */
static int find_node_secret(Pst__Hello *hello, const struct client_target *target,
                            const struct auth_keys *keys, uint8_t secret[HANDSHAKE_SECRET_SIZE])
{
    uint8_t other[AUTH_MAC_SIZE];
    const char *kid;
    int r = idkey_secret(target->identity, target->controller_key, IDKEY_FOR_HELLO, secret);

    if (r == 0 && keys) {
        r = auth_derive(keys, NULL, AUTH_FOR_HELLO, NULL, 0, other, &kid);
        if (r == 0)
            idkey_mix(secret, other);
        explicit_bzero(other, sizeof(other));
        hello->key_id = r == 0 ? (char *)(uintptr_t)kid : NULL; /* only read */
    }
    /* likewise */
    hello->token =
        (ProtobufCBinaryData){ IDKEY_SIZE, (uint8_t *)(uintptr_t)idkey_public(target->identity) };
    return r;
}

/* The secret of a method that has one before the reply; fills in what names it. */
static int find_secret(Pst__Hello *hello, const struct client_target *target,
                       const struct auth_keys *keys, uint8_t secret[HANDSHAKE_SECRET_SIZE],
                       struct err *err)
{
    const Pst__SignedCredential *cred = target->credential;
    const char *kid;
    size_t shown;
    int r;

    switch (hello->method) {
    case PST__AUTH_METHOD__AUTH_NODE:
        r = find_node_secret(hello, target, keys, secret);
        if (r < 0)
            return r;
        break;
    case PST__AUTH_METHOD__AUTH_KEY:
        r = auth_derive(keys, NULL, AUTH_FOR_HELLO, NULL, 0, secret, &kid);
        hello->key_id = r == 0 ? (char *)(uintptr_t)kid : NULL; /* only read */
        return r;
    case PST__AUTH_METHOD__AUTH_JWT:
        r = split_token(target->jwt, &shown, secret, err);
        if (r < 0) {
            err_prefix(err, "Invalid authentication credential");
            return r;
        }
        /* likewise */
        hello->token = (ProtobufCBinaryData){ shown, (uint8_t *)(uintptr_t)target->jwt };
        break;
    default:
        if (!cred->key_id || target->launch_key.len != HANDSHAKE_SECRET_SIZE)
            return err_set(err, -EACCES, "Invalid job credential: it came without its key");
        memcpy(secret, target->launch_key.data, HANDSHAKE_SECRET_SIZE);
        hello->key_id = (char *)(uintptr_t)launch_kid(target); /* only read */
        hello->token = cred->mac;
    }
    hello->has_token = true;
    return 0;
}

/* use_client_ids: who has the cluster's key tells of himself.  Root is root everywhere, and a user
 * whom this host does not know is a number. */
static int add_identity(Pst__Hello *hello, const struct client_target *target,
                        uint8_t **ret_identity, struct err *err)
{
    int r;

    if (!target->client_ids || hello->method != PST__AUTH_METHOD__AUTH_KEY || hello->uid == 0)
        return 0;
    r = ident_make(hello->uid, hello->gid, ret_identity, &hello->identity.len, err);
    hello->has_identity = r == 0;
    hello->identity.data = *ret_identity;
    return r == -ENOENT ? 0 : r;
}

/* A Hello while it is made: the message, and what it points to. */
struct draft {
    Pst__Hello msg;
    struct hello_sent sent;
    uint8_t nonce[AUTH_NONCE_SIZE]; /* the caller's own */
    char host[65], program[PROGRAM_MAX + 1];
    char *credential;         /* of munge */
    uint8_t *identity;        /* of use_client_ids */
    Pst__VouchReply *vouched; /* of a daemon of this host */
};

static void draft_done(struct draft *d)
{
    free(d->credential);
    free(d->identity);
    if (d->vouched)
        pst__vouch_reply__free_unpacked(d->vouched, NULL);
    hello_sent_done(&d->sent);
}

/* Who the caller says that he is. */
static void fill_hello(struct draft *d, const struct hello_way *way)
{
    const struct client_target *target = way->target;
    Pst__Hello *h = &d->msg;

    if (gethostname(d->host, sizeof(d->host) - 1) == 0)
        d->host[strcspn(d->host, ".")] = '\0';
    if (target->program)
        (void)snprintf(d->program, sizeof(d->program), "%s", target->program); /* cut is fine */
    h->has_version = h->has_method = h->has_uid = h->has_gid = h->has_pid = true;
    h->version = way->version;
    h->method = (Pst__AuthMethod)way->method;
    h->uid = geteuid();
    h->gid = getegid();
    h->pid = (uint32_t)getpid();
    h->host = d->host;
    h->program = d->program;
    h->release = (char *)SLURM_RELEASE; /* only read, as are the next */
    h->cluster = (char *)target->cluster;
    h->service = (char *)(target->service ? target->service : "slurmctld");
    h->name = (char *)target->name;
    if (has_text(target->act_as))
        h->act_as = (char *)target->act_as;
    h->has_nonce = true;
    h->nonce = (ProtobufCBinaryData){ sizeof(d->nonce), d->nonce };
}

static void set_proof(struct draft *d, const void *proof, size_t len)
{
    d->msg.has_proof = true;
    d->msg.proof = (ProtobufCBinaryData){ len, (uint8_t *)(uintptr_t)proof }; /* only read */
}

/* By a secret that both ends know: a key, a token, a launch key. */
static int prove_secret(struct draft *d, const struct hello_way *way, struct err *err)
{
    uint8_t secret[HANDSHAKE_SECRET_SIZE];
    int r = find_secret(&d->msg, way->target, way->keys, secret, err);

    if (r == 0)
        r = add_identity(&d->msg, way->target, &d->identity, err);
    if (r == 0)
        r = handshake_bytes(way->nonce, &d->msg, &d->sent.bytes, &d->sent.len);
    if (r == 0)
        r = handshake_derive(secret, d->sent.bytes, d->sent.len, &d->sent.proofs);
    explicit_bzero(secret, sizeof(secret));
    if (r < 0 && !(err && err->text[0]))
        return err_set(err, r, "Invalid authentication credential: cannot sign: %s", strerror(-r));
    set_proof(d, d->sent.proofs.client_proof, AUTH_MAC_SIZE);
    return r;
}

static int prove_munge(struct draft *d, const struct hello_way *way, struct err *err)
{
    int r = handshake_bytes(way->nonce, &d->msg, &d->sent.bytes, &d->sent.len);

    if (r < 0)
        return err_set(err, r, "%s", strerror(-r));
    r = auth_munge_encode(way->target->munge_socket, way->target->munge_ttl_s, d->sent.bytes,
                          d->sent.len, &d->credential, err);
    if (r < 0)
        return r;
    set_proof(d, d->credential, strlen(d->credential));
    return 0;
}

/* By a daemon of this host. */
static int prove_vouched(struct draft *d, const struct hello_way *way, struct err *err)
{
    int r = vouch_ask(&d->msg, way->nonce, way->target->client_ids, way->target->timeout_ms,
                      &d->sent.proofs, &d->vouched, err);

    if (r < 0)
        return r;
    r = handshake_bytes(way->nonce, &d->msg, &d->sent.bytes, &d->sent.len);
    if (r < 0)
        return err_set(err, r, "%s", strerror(-r));
    set_proof(d, d->sent.proofs.client_proof, AUTH_MAC_SIZE);
    return 0;
}

static int prove_caller(struct draft *d, const struct hello_way *way, struct err *err)
{
    const char *token = way->target->jwt;

    switch (way->method) {
    case PST__AUTH_METHOD__AUTH_PEERCRED: /* the kernel vouches */
        return 0;
    case PST__AUTH_METHOD__AUTH_BEARER:
        d->msg.has_token = true;
        /* only read */
        d->msg.token = (ProtobufCBinaryData){ strlen(token), (uint8_t *)(uintptr_t)token };
        return 0;
    case PST__AUTH_METHOD__AUTH_MUNGE:
        return prove_munge(d, way, err);
    case PST__AUTH_METHOD__AUTH_VOUCH:
        return prove_vouched(d, way, err);
    default:
        return prove_secret(d, way, err);
    }
}

int hello_pack(const struct hello_way *way, uint8_t **ret_buf, size_t *ret_len,
               struct hello_sent *ret_sent, struct err *err)
{
    struct draft d = { .msg = PST__HELLO__INIT, .sent = { .method = way->method } };
    int r = auth_random(d.nonce, sizeof(d.nonce));

    if (r < 0)
        return err_set(err, r, "%s", strerror(-r));
    fill_hello(&d, way);
    r = prove_caller(&d, way, err);
    if (r == 0) {
        r = frame_pack(OP_HELLO, 0, 0, 0, &d.msg.base, ret_buf, ret_len);
        if (r < 0)
            /* r says it */
            (void)err_set(err, r,
                          "Invalid authentication credential: token or credential too long");
    }
    if (r == 0) {
        frame_set_version(*ret_buf, way->version);
        *ret_sent = d.sent;
        d.sent = (struct hello_sent){ 0 };
    }
    draft_done(&d);
    return r;
}

/* The secret that the server sent for us alone. */
static int open_credential(const struct client_target *target, struct hello_sent *sent,
                           const Pst__HelloReply *reply, uid_t slurm_uid, struct err *err)
{
    _cleanup_free_ void *payload = NULL;
    uid_t uid;
    gid_t gid;
    size_t len = 0;
    int r;

    if (!reply->credential)
        return -EACCES;
    r = auth_munge_decode(target->munge_socket, reply->credential, &uid, &gid, &payload, &len, err);
    if (r < 0)
        return r;
    if ((uid != 0 && uid != slurm_uid && uid != geteuid()) ||
        len != sent->len + HANDSHAKE_SECRET_SIZE || memcmp(payload, sent->bytes, sent->len) != 0)
        return -EACCES;
    r = handshake_derive((uint8_t *)payload + sent->len, sent->bytes, sent->len, &sent->proofs);
    explicit_bzero(payload, len);
    return r;
}

int hello_check(const struct client_target *target, struct hello_sent *sent,
                const Pst__HelloReply *reply, uid_t slurm_uid, struct seal **ret_in,
                struct seal **ret_out, struct err *err)
{
    struct seal *in = NULL, *out = NULL;
    int r = 0;

    if (sent->method == PST__AUTH_METHOD__AUTH_MUNGE)
        r = open_credential(target, sent, reply, slurm_uid, err);
    if (r == 0 && (reply->proof.len != AUTH_MAC_SIZE ||
                   !crypto_equal(reply->proof.data, sent->proofs.server_proof, AUTH_MAC_SIZE)))
        r = -EACCES;
    if (r < 0)
        return err_set(err, r,
                       "Invalid authentication credential: %s at %s port %u does not prove itself",
                       target->service ? target->service : "slurmctld",
                       target->host ? target->host : "local", target->port);
    if (sent->method != PST__AUTH_METHOD__AUTH_STEP)
        r = seal_new(sent->proofs.to_client, &in);
    if (r == 0)
        r = seal_new(sent->proofs.to_server, &out);
    if (r < 0) {
        (void)seal_free(in); /* always NULL */
        return err_set(err, r, "%s", strerror(-r));
    }
    *ret_in = in;
    *ret_out = out;
    return 0;
}

bool hello_server_trusted(int fd, uid_t slurm_uid)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return false;
    return cred.uid == 0 || cred.uid == slurm_uid || cred.uid == geteuid();
}

unsigned wire_local_name(uint16_t port, struct sockaddr_un *ret_sa)
{
    int n;

    *ret_sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
    n = snprintf(ret_sa->sun_path + 1, sizeof(ret_sa->sun_path) - 1, "penstock/ctld/%u", port);
    return (unsigned)(offsetof(struct sockaddr_un, sun_path) + 1) + (unsigned)n;
}
