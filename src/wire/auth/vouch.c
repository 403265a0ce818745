/* vouch.c - see vouch.h
 *
 * Owns nothing; any thread. */
#include "wire/auth/vouch.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/auth/idkey.h"

#define PATHS 3u
#define HEAD 4u

static const char *const folders[PATHS] = { "/run/slurm", "/run/slurmctld", "/run/slurmdbd" };

/* ---- the command's half ---------------------------------------------------------------------- */

/* The socket number i that may be there; false: there are no more. */
static bool name_socket(unsigned i, struct sockaddr_un *ret_sa)
{
    const char *given = getenv("SLURM_SACK_SOCKET");
    bool named = given && given[0];
    int n;

    if (i >= (named ? 1 : PATHS))
        return false;
    *ret_sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
    n = named
            ? snprintf(ret_sa->sun_path, sizeof(ret_sa->sun_path), "%s", given)
            : snprintf(ret_sa->sun_path, sizeof(ret_sa->sun_path), "%s/" VOUCH_SOCKET, folders[i]);
    return n > 0 && (size_t)n < sizeof(ret_sa->sun_path);
}

bool vouch_may_ask(void)
{
    struct sockaddr_un sa;

    for (unsigned i = 0; name_socket(i, &sa); i++)
        if (access(sa.sun_path, W_OK) == 0)
            return true;
    return false;
}

/* Root's daemon, our own, or one of the user to whom the folder of the socket belongs (SlurmUser).
 * */
static bool trust_daemon(int fd, const char *path)
{
    char folder[VOUCH_PATH_MAX];
    struct ucred cred;
    struct stat st;
    socklen_t len = sizeof(cred);
    const char *slash = strrchr(path, '/');

    if (!slash || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return false;
    (void)snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path); /* it fits */
    return cred.uid == 0 || cred.uid == geteuid() ||
           (stat(folder, &st) == 0 && st.st_uid == cred.uid);
}

static int connect_daemon(int64_t deadline_mono_us)
{
    struct sockaddr_un sa;
    int r = -ENOENT;

    for (unsigned i = 0; name_socket(i, &sa); i++) {
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int64_t left = MAX(deadline_mono_us - now_mono_us(), (int64_t)1000);
        struct timeval tv = { .tv_sec = left / USEC_PER_SEC, .tv_usec = left % USEC_PER_SEC };

        if (fd < 0)
            return -errno;
        /* a daemon that stands still costs no more than this */
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
        if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
            r = errno == EAGAIN ? -ETIMEDOUT : r;
            continue;
        }
        if (trust_daemon(fd, sa.sun_path))
            return TAKE_FD(fd);
        r = -EACCES;
    }
    return r;
}

static int move_all(int fd, uint8_t *p, size_t len, bool out)
{
    while (len) {
        ssize_t n = out ? send(fd, p, len, MSG_NOSIGNAL) : recv(fd, p, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? -ECONNRESET : errno == EAGAIN ? -ETIMEDOUT : -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

/* A message with its length before it. */
static int pack_message(const ProtobufCMessage *msg, uint8_t **ret, size_t *ret_len)
{
    size_t n = protobuf_c_message_get_packed_size(msg);
    uint32_t le = htole32((uint32_t)n);
    uint8_t *buf = malloc(HEAD + n);

    if (!buf)
        return -ENOMEM;
    memcpy(buf, &le, HEAD);
    (void)protobuf_c_message_pack(msg, buf + HEAD);
    *ret = buf;
    *ret_len = HEAD + n;
    return 0;
}

static int read_reply(int fd, Pst__VouchReply **ret)
{
    uint8_t buf[VOUCH_BYTES_MAX];
    uint32_t n = 0;
    int r = move_all(fd, (uint8_t *)&n, HEAD, false);

    n = le32toh(n);
    if (r == 0 && n > sizeof(buf))
        r = -EPROTO;
    if (r == 0)
        r = move_all(fd, buf, n, false);
    if (r == 0) {
        *ret = pst__vouch_reply__unpack(NULL, n, buf);
        r = *ret ? 0 : -EPROTO;
    }
    explicit_bzero(buf, sizeof(buf));
    return r;
}

static int ask_daemon(const Pst__VouchRequest *req, int timeout_ms, Pst__VouchReply **ret)
{
    int64_t deadline = now_mono_us() + (int64_t)(timeout_ms > 0 ? timeout_ms : 10000) * 1000;
    _cleanup_free_ uint8_t *buf = NULL;
    _cleanup_close_ int fd = -1;
    size_t len = 0;
    int r = pack_message(&req->base, &buf, &len);

    if (r < 0)
        return r;
    if (len > HEAD + VOUCH_BYTES_MAX)
        return -EMSGSIZE;
    fd = connect_daemon(deadline);
    if (fd < 0)
        return fd;
    r = move_all(fd, buf, len, true);
    return r < 0 ? r : read_reply(fd, ret);
}

static void take_proofs(const uint8_t *p, struct handshake *ret)
{
    memcpy(ret->client_proof, p, AUTH_MAC_SIZE);
    memcpy(ret->server_proof, p + AUTH_MAC_SIZE, AUTH_MAC_SIZE);
    memcpy(ret->to_server, p + 2 * AUTH_MAC_SIZE, SEAL_KEY_SIZE);
    memcpy(ret->to_client, p + 2 * AUTH_MAC_SIZE + SEAL_KEY_SIZE, SEAL_KEY_SIZE);
}

int vouch_ask(Pst__Hello *hello, const uint8_t server_nonce[AUTH_NONCE_SIZE], bool want_identity,
              int timeout_ms, struct handshake *ret_proofs, Pst__VouchReply **ret_reply,
              struct err *err)
{
    Pst__VouchRequest req = PST__VOUCH_REQUEST__INIT;
    Pst__VouchReply *reply = NULL;
    int r;

    req.hello = hello;
    req.has_server_nonce = true; /* only read */
    req.server_nonce = (ProtobufCBinaryData){ AUTH_NONCE_SIZE, (uint8_t *)(uintptr_t)server_nonce };
    req.has_want_identity = req.want_identity = want_identity;
    r = ask_daemon(&req, timeout_ms, &reply);
    if (r == 0 && reply->refused)
        r = err_set(err, -EACCES, "Invalid authentication credential: %.200s", reply->refused);
    else if (r == 0 && (reply->proofs.len != VOUCH_PROOFS_SIZE || !reply->has_uid ||
                        !reply->has_gid || (reply->key_id == NULL) == (reply->token.len == 0)))
        r = err_set(err, -EPROTO,
                    "Invalid authentication credential: " VOUCH_SOCKET
                    " gives a reply without proofs");
    else if (r < 0)
        (void)err_set(
            err, r, "Invalid authentication credential: no daemon answers at " VOUCH_SOCKET ": %s",
            strerror(-r)); /* r is given back */
    if (r < 0) {
        if (reply)
            pst__vouch_reply__free_unpacked(reply, NULL);
        return r;
    }
    hello->has_uid = hello->has_gid = true;
    hello->uid = reply->uid;
    hello->gid = reply->gid;
    hello->key_id = reply->key_id;
    hello->has_token = reply->token.len > 0;
    hello->token = reply->token;
    hello->has_identity = reply->identity.len > 0;
    hello->identity = reply->identity;
    take_proofs(reply->proofs.data, ret_proofs);
    explicit_bzero(reply->proofs.data, reply->proofs.len);
    *ret_reply = reply;
    return 0;
}

/* ---- the daemon's half ----------------------------------------------------------------------- */

int vouch_refuse(const char *why, uint8_t **ret_reply, size_t *ret_len)
{
    Pst__VouchReply reply = PST__VOUCH_REPLY__INIT;

    reply.refused = (char *)(uintptr_t)why; /* only read */
    return pack_message(&reply.base, ret_reply, ret_len);
}

/* NULL, or why nobody vouches for that. */
static const char *judge_request(const Pst__VouchRequest *req, const struct vouch_secret *with)
{
    const Pst__Hello *h = req ? req->hello : NULL;

    if (!h || req->server_nonce.len != AUTH_NONCE_SIZE || h->nonce.len != AUTH_NONCE_SIZE ||
        !h->service || !h->has_version)
        return "the request to vouch is incomplete";
    if (h->method != PST__AUTH_METHOD__AUTH_VOUCH)
        return "this daemon vouches with no other method";
    if (strcmp(h->service, "slurmctld") != 0 &&
        (strcmp(h->service, "slurmdbd") != 0 || with->node_key))
        return with->node_key ? "a node vouches to slurmctld alone"
                              : "this daemon vouches to slurmctld and slurmdbd alone";
    return NULL;
}

static int make_proofs(Pst__VouchRequest *req, const struct vouch_secret *with, uid_t uid,
                       gid_t gid, Pst__VouchReply *reply, uint8_t proofs[VOUCH_PROOFS_SIZE])
{
    Pst__Hello told = *req->hello; /* what it says of the caller is not believed */
    _cleanup_free_ uint8_t *bytes = NULL;
    struct handshake h;
    size_t len = 0;
    int r;

    told.has_uid = told.has_gid = true;
    told.uid = reply->uid = uid;
    told.gid = reply->gid = gid;
    reply->has_uid = reply->has_gid = true;
    told.key_id = reply->key_id = (char *)(uintptr_t)with->key_id; /* only read, as the next */
    told.token = (ProtobufCBinaryData){ with->node_key ? IDKEY_SIZE : 0,
                                        (uint8_t *)(uintptr_t)with->node_key };
    reply->has_token = with->node_key != NULL;
    reply->token = told.token;
    told.identity = reply->identity;
    told.has_identity = reply->has_identity;
    r = handshake_bytes(req->server_nonce.data, &told, &bytes, &len);
    if (r == 0)
        r = handshake_derive(with->secret, bytes, len, &h);
    if (r < 0)
        return r;
    memcpy(mempcpy(mempcpy(mempcpy(proofs, h.client_proof, AUTH_MAC_SIZE), h.server_proof,
                           AUTH_MAC_SIZE),
                   h.to_server, SEAL_KEY_SIZE),
           h.to_client, SEAL_KEY_SIZE);
    explicit_bzero(&h, sizeof(h));
    reply->has_proofs = true;
    reply->proofs = (ProtobufCBinaryData){ VOUCH_PROOFS_SIZE, proofs };
    return 0;
}

/* What this host knows of the caller, in *ret_identity; of a user whom it does not know, nothing.
 * -E2BIG with a sentence: to tell a part of it could give him a right. */
static int tell_identity(const Pst__VouchRequest *req, const struct vouch_secret *with, uid_t uid,
                         gid_t gid, uint8_t **ret_identity, Pst__VouchReply *reply, struct err *err)
{
    size_t len = 0;
    int r;

    if (!req->want_identity || !with->identify || with->node_key)
        return 0;
    r = with->identify(uid, gid, ret_identity, &len, err);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    reply->has_identity = true;
    reply->identity = (ProtobufCBinaryData){ len, *ret_identity };
    return 0;
}

int vouch_answer(const struct vouch_secret *with, uid_t uid, gid_t gid, const uint8_t *request,
                 size_t len, uint8_t **ret_reply, size_t *ret_len)
{
    Pst__VouchReply reply = PST__VOUCH_REPLY__INIT;
    Pst__VouchRequest *req =
        len <= VOUCH_BYTES_MAX ? pst__vouch_request__unpack(NULL, len, request) : NULL;
    const char *why = judge_request(req, with);
    _cleanup_free_ uint8_t *identity = NULL;
    struct err err = { .text = "" };
    uint8_t proofs[VOUCH_PROOFS_SIZE];
    int r;

    if (!why && tell_identity(req, with, uid, gid, &identity, &reply, &err) < 0)
        why = err.text;
    if (why) {
        r = vouch_refuse(why, ret_reply, ret_len);
    } else {
        r = make_proofs(req, with, uid, gid, &reply, proofs);
        if (r == 0)
            r = pack_message(&reply.base, ret_reply, ret_len);
        explicit_bzero(proofs, sizeof(proofs));
    }
    if (req)
        pst__vouch_request__free_unpacked(req, NULL);
    return r;
}
