/* conn_tls.c - a fresh connection that begins with TLS; see conn_tls.h */
#include "wire/server/conn_tls.h"

#include <errno.h>
#include <string.h>

#include "wire/server/launchkey.h"
#include "wire/server/server_impl.h"
#include "wire/server/tlspipe.h"
#include "wire/tls/tls.h"

#include "base/logflags.h"
#include "wire/errors.h"
#include "wire/hello.h"

static struct tls_ctx *take_ctx(const struct conn *c)
{
    struct server *s = c->worker->server;
    struct tls_ctx *ctx;

    pthread_mutex_lock(&s->auth_lock);
    ctx = tls_ctx_ref(s->config.tls);
    pthread_mutex_unlock(&s->auth_lock);
    return ctx;
}

bool conn_wants_tls(const struct conn *c)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *ctx = take_ctx(c);

    return ctx && !c->local;
}

/* The key of TLS that a step's credential comes with: its name is the credential's MAC and the key
 * that made it. */
static int find_launch_key(void *arg, const uint8_t *id, size_t n, uint8_t ret_key[TLS_KEY_SIZE])
{
    const struct conn *c = arg;
    struct server *s = c->worker->server;
    char kid[TLS_ID_MAX + 1];
    uint8_t launch_key[AUTH_MAC_SIZE];
    struct auth_keys *keys;
    int r;

    if (!s->config.step_keys || n <= AUTH_MAC_SIZE)
        return -ENOKEY;
    memcpy(kid, id + AUTH_MAC_SIZE, n - AUTH_MAC_SIZE);
    kid[n - AUTH_MAC_SIZE] = '\0';
    pthread_mutex_lock(&s->auth_lock);
    keys = s->config.keys ? auth_keys_ref(s->config.keys) : NULL;
    pthread_mutex_unlock(&s->auth_lock);
    r = conn_launch_key(&s->config, keys, kid, id, launch_key);
    if (r == 0)
        hello_launch_tls(launch_key, ret_key);
    explicit_bzero(launch_key, sizeof(launch_key));
    (void)auth_keys_free(keys); /* always NULL */
    return r;
}

bool conn_begin_tls(struct conn *c)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *ctx = take_ctx(c);
    struct tls *tls;

    if (!ctx) {
        link_close(&c->link, "peer speaks TLS, and this daemon has no TLSType");
        return false;
    }
    if (tls_new_server(ctx, c->link.fd, find_launch_key, c, &tls) < 0) {
        link_close(&c->link, ERR_NOMEM);
        return false;
    }
    link_tls_take(&c->link, tls);
    return true;
}

static void tell_audit(struct conn *c, const char *why)
{
    const struct server_config *config = &c->worker->server->config;

    if (config->hooks.on_tls)
        config->hooks.on_tls(config->ctx, &c->peer, why);
}

/* DebugFlags=TLS: the handshake is over; why it failed, or NULL. */
static void log_handshake(const struct conn *c, const char *why)
{
    char cipher[80];

    if (log_has_flag(LOG_SUBJECT_TLS))
        log_flag(TLS, "connection %llu addr=%s: %s", (unsigned long long)c->id, c->peer.addr,
                 why ? why : tls_cipher(c->link.tls, cipher, sizeof(cipher)));
}

bool conn_go_on_tls(struct conn *c, enum knock_caller *ret_caller, struct knock_head *ret_head)
{
    struct link *l = &c->link;
    ssize_t n = tls_peek(l->tls, ret_head->bytes, sizeof(ret_head->bytes));

    if (n == -EAGAIN)
        return false;
    if (n <= 0) {
        const char *why = tls_why(l->tls);

        why = why ? why : n < 0 ? strerror((int)-n) : "TLS: the peer left before it said who it is";
        tell_audit(c, why);
        log_handshake(c, why);
        if (n == -EPROTO)
            link_finish(l,
                        why); /* the alert is on its way: closing with unread bytes would lose it */
        else
            link_close(l, why);
        return false;
    }
    c->peer.tls = true;
    c->peer.certified = tls_peer_name(l->tls, c->peer.cert_name, sizeof(c->peer.cert_name));
    tell_audit(c, NULL);
    log_handshake(c, NULL);
    ret_head->n = (size_t)n;
    *ret_caller = knock_caller(ret_head->bytes, ret_head->n);
    if (*ret_caller == KNOCK_OURS)
        (void)tls_read(l->tls, ret_head->bytes, KNOCK_SIZE); /* they are there */
    return true;
}

int conn_split_tls(struct conn *c)
{
    int fd = tlspipe_new(c->worker, &c->link);

    link_close(&c->link, fd < 0 ? strerror(-fd) : NULL);
    return fd;
}

void conn_refuse_plain(struct conn *c, enum knock_caller caller)
{
    uint8_t *buf;
    size_t len;

    log_limited(LOG_INFO, "connection refused: it is not encrypted, and TLSType is set addr=%s",
                c->peer.addr);
    if (caller == KNOCK_OURS &&
        frame_pack_error(OP_HELLO, 0, EPST_ENCRYPTED, slurm_err_text(EPST_ENCRYPTED), &buf, &len) ==
            0 &&
        link_send_take(&c->link, buf, len, false) == 0)
        link_finish(&c->link, NULL); /* why is logged here */
    else
        link_close(&c->link, NULL);
}

void server_log_tls(const struct peer *peer, const char *why)
{
    char name[160];

    log_flag(AUDIT_TLS, "%s addr=%s certificate=%s", why ? why : "encrypted", peer->addr,
             peer->certified ? log_quote(peer->cert_name, name, sizeof(name)) : "none");
}
