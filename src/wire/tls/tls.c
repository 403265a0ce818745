/* tls.c - one connection; see tls.h
 *
 * Owns the library's connection and a reference to the context; the descriptor is the caller's. */
#include "wire/tls/tls.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "wire/tls/tls_impl.h"
#include "wire/tls/tlsbio.h"

#define BINDING_LABEL "EXPORTER-Channel-Binding" /* of RFC 9266 */
#define SERVER_NAME "penstock"
#define READ_AHEAD (64u * 1024)
#define STREAM_ID "stream"
/* tls/auto: a key that everybody knows.  Its connections are as secret as any (ECDHE), and who
 * the peer is they do not say, as with a certificate that nobody asks about, whose decoding and
 * checking this saves: a third of what a handshake costs a command. */
#define NOBODY_ID "nobody"
#define NOBODY_KEY "penstock tls/auto: known to all."
_Static_assert(sizeof(NOBODY_KEY) - 1 == TLS_KEY_SIZE, "a whole key");

static const unsigned char key_suite[] = { 0x13, 0x01 }; /* TLS_AES_128_GCM_SHA256 */

struct tls {
    struct tls_ctx *ctx; /* referenced */
    SSL *ssl;
    struct tlsbio socket;
    bool write_waits_read, read_waits_write, failed;
    bool takes_nobody; /* a server of tls/auto; never one of a stream: its key says who it is */
    tls_find_key *find;
    void *find_arg;
    uint8_t id[TLS_ID_MAX], key[TLS_KEY_SIZE]; /* of a client with a key */
    size_t id_len;
    char why[160];
};

/* ---- keys ------------------------------------------------------------------------------------ */

/* What the library knows a key of both ends as. */
static SSL_SESSION *session_of(const struct ssllib *lib, SSL *ssl, const uint8_t *key)
{
    const SSL_CIPHER *suite = lib->SSL_CIPHER_find(ssl, key_suite);
    SSL_SESSION *s = suite ? lib->SSL_SESSION_new() : NULL;

    if (s && (lib->SSL_SESSION_set1_master_key(s, key, TLS_KEY_SIZE) != 1 ||
              lib->SSL_SESSION_set_cipher(s, suite) != 1 ||
              lib->SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) != 1)) {
        lib->SSL_SESSION_free(s);
        return NULL;
    }
    return s;
}

/* The library's question to a client: which key, by which name? */
static int offer_key(SSL *ssl, const EVP_MD *md, const unsigned char **ret_id, size_t *ret_n,
                     SSL_SESSION **ret_session)
{
    const struct ssllib *lib = ssllib_loaded();
    struct tls *t = lib->SSL_get_ex_data(ssl, 0);

    *ret_session = NULL;
    if (md && md != lib->EVP_sha256()) /* the server chose a suite that the key is not for */
        return 1;
    *ret_session = session_of(lib, ssl, t->key);
    *ret_id = t->id;
    *ret_n = t->id_len;
    return *ret_session != NULL;
}

static bool is_named(const char *name, const uint8_t *id, size_t n)
{
    return n == strlen(name) && memcmp(id, name, n) == 0;
}

static int ask_owner(const struct tls *t, const uint8_t *id, size_t n,
                     uint8_t ret_key[TLS_KEY_SIZE])
{
    if (t->takes_nobody && is_named(NOBODY_ID, id, n)) {
        memcpy(ret_key, NOBODY_KEY, TLS_KEY_SIZE);
        return 0;
    }
    return t->find ? t->find(t->find_arg, id, n, ret_key) : -ENOKEY;
}

/* The library's question to a server: which key has that name? */
static int find_key(SSL *ssl, const unsigned char *id, size_t n, SSL_SESSION **ret_session)
{
    const struct ssllib *lib = ssllib_loaded();
    struct tls *t = lib->SSL_get_ex_data(ssl, 0);
    uint8_t key[TLS_KEY_SIZE];

    *ret_session = NULL;
    if (n > TLS_ID_MAX || ask_owner(t, id, n, key) < 0)
        return 1; /* then by certificate */
    *ret_session = session_of(lib, ssl, key);
    explicit_bzero(key, sizeof(key));
    return *ret_session != NULL;
}

static int find_own(void *arg, const uint8_t *id, size_t n, uint8_t ret_key[TLS_KEY_SIZE])
{
    const struct tls *t = arg;

    if (!is_named(STREAM_ID, id, n))
        return -ENOENT;
    memcpy(ret_key, t->key, TLS_KEY_SIZE);
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int new_tls(struct tls_ctx *ctx, int fd, bool server, struct tls **ret_tls)
{
    const struct ssllib *lib = ctx->lib;
    struct tls *t = calloc(1, sizeof(*t));
    BIO *bio = NULL;

    if (!t)
        return -ENOMEM;
    t->ctx = tls_ctx_ref(ctx);
    t->socket.fd = fd;
    t->ssl = lib->SSL_new(ctx->ssl);
    bio = t->ssl ? lib->BIO_new(ctx->bio) : NULL;
    if (!bio || lib->SSL_set_ex_data(t->ssl, 0, t) != 1 ||
        /* a server that asks for certificates takes no key without a name of its own */
        (server && lib->SSL_set_session_id_context(t->ssl, (const unsigned char *)SERVER_NAME,
                                                   sizeof(SERVER_NAME) - 1) != 1)) {
        if (bio)
            lib->BIO_free(bio);
        (void)tls_free(t); /* always NULL */
        return -ENOMEM;
    }
    lib->BIO_set_data(bio, &t->socket);
    lib->BIO_set_init(bio, 1);
    lib->SSL_set_bio(t->ssl, bio, bio); /* it has the BIO from now on */
    if (server)
        lib->SSL_set_accept_state(t->ssl);
    else
        lib->SSL_set_connect_state(t->ssl);
    *ret_tls = t;
    return 0;
}

/* A client offers this key. */
static void use_key(struct tls *t, const uint8_t *id, size_t n, const uint8_t *key)
{
    memcpy(t->id, id, n);
    t->id_len = n;
    memcpy(t->key, key, TLS_KEY_SIZE);
    t->ctx->lib->SSL_set_psk_use_session_callback(t->ssl, offer_key);
}

int tls_new_client(struct tls_ctx *ctx, int fd, struct tls **ret_tls)
{
    int r = new_tls(ctx, fd, false, ret_tls);

    if (r < 0)
        return r;
    if (ctx->own_pair)
        ctx->lib->SSL_certs_clear((*ret_tls)->ssl);
    if (ctx->any_server) /* a server that does not know the key shows a certificate */
        use_key(*ret_tls, (const uint8_t *)NOBODY_ID, strlen(NOBODY_ID),
                (const uint8_t *)NOBODY_KEY);
    ctx->lib->SSL_set_verify((*ret_tls)->ssl, ctx->any_server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                             NULL);
    return 0;
}

int tls_new_server(struct tls_ctx *ctx, int fd, tls_find_key *find, void *arg, struct tls **ret_tls)
{
    int r = new_tls(ctx, fd, true, ret_tls);

    if (r < 0)
        return r;
    (*ret_tls)->find = find;
    (*ret_tls)->find_arg = arg;
    (*ret_tls)->takes_nobody = ctx->any_server;
    /* A caller without a certificate is a person; with a wrong one it is nobody. */
    ctx->lib->SSL_set_verify((*ret_tls)->ssl, SSL_VERIFY_PEER, NULL);
    ctx->lib->SSL_set_psk_find_session_callback((*ret_tls)->ssl, find_key);
    return 0;
}

int tls_new_client_key(struct tls_ctx *ctx, int fd, const uint8_t *id, size_t n,
                       const uint8_t key[TLS_KEY_SIZE], struct tls **ret_tls)
{
    int r = n > TLS_ID_MAX ? -EINVAL : new_tls(ctx, fd, false, ret_tls);

    if (r < 0)
        return r;
    use_key(*ret_tls, id, n, key);
    ctx->lib->SSL_set_verify((*ret_tls)->ssl, SSL_VERIFY_PEER, NULL);
    return 0;
}

void tls_read_ahead(struct tls *t)
{
    t->ctx->lib->SSL_set_read_ahead(t->ssl, 1);
    t->ctx->lib->SSL_set_default_read_buffer_len(t->ssl, READ_AHEAD);
}

int tls_new_stream_client(struct tls_ctx *ctx, int fd, const uint8_t key[TLS_KEY_SIZE],
                          struct tls **ret_tls)
{
    int r =
        tls_new_client_key(ctx, fd, (const uint8_t *)STREAM_ID, strlen(STREAM_ID), key, ret_tls);

    if (r == 0)
        tls_read_ahead(*ret_tls);
    return r;
}

int tls_new_stream_server(struct tls_ctx *ctx, int fd, const uint8_t key[TLS_KEY_SIZE],
                          struct tls **ret_tls)
{
    int r = new_tls(ctx, fd, true, ret_tls);

    if (r < 0)
        return r;
    memcpy((*ret_tls)->key, key, TLS_KEY_SIZE);
    (*ret_tls)->find = find_own;
    (*ret_tls)->find_arg = *ret_tls;
    tls_read_ahead(*ret_tls);
    ctx->lib->SSL_set_psk_find_session_callback((*ret_tls)->ssl, find_key);
    return 0;
}

struct tls *tls_free(struct tls *t)
{
    int saved = errno;

    if (t) {
        explicit_bzero(t->key, sizeof(t->key));
        if (t->ssl)
            t->ctx->lib->SSL_free(t->ssl);
        t->ctx = tls_ctx_unref(t->ctx);
        free(t);
    }
    errno = saved;
    return NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* The sentence for a failed handshake or a broken record. */
static void note_why(struct tls *t)
{
    const struct ssllib *lib = t->ctx->lib;
    long verdict = lib->SSL_get_verify_result(t->ssl);

    t->failed = true;
    if (t->why[0])
        return;
    if (verdict != X509_V_OK && !t->ctx->any_server)
        (void)snprintf(t->why, sizeof(t->why), "TLS: the certificate of the peer is refused: %s",
                       lib->X509_verify_cert_error_string(verdict)); /* cut is fine, as below */
    else
        (void)snprintf(t->why, sizeof(t->why), "TLS: %s", ssllib_reason(lib));
}

/* What the library's verdict on a read or write means: as of tls_read(). */
static ssize_t judge_result(struct tls *t, int n, bool *ret_other_way, int own_way)
{
    const struct ssllib *lib = t->ctx->lib;
    int e;

    *ret_other_way = false;
    if (n > 0)
        return n;
    e = lib->SSL_get_error(t->ssl, n);
    if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
        *ret_other_way = e != own_way;
        return -EAGAIN;
    }
    if (e == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (t->socket.failed)
        return -t->socket.failed;
    if (e == SSL_ERROR_SYSCALL || lib->ERR_peek_last_error() == 0 ||
        ERR_GET_REASON(lib->ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        /* Frames have their length: an end in the middle of one is seen by who reads them. */
        return own_way == SSL_ERROR_WANT_READ ? 0 : -EPIPE;
    note_why(t);
    return -EPROTO;
}

/* The library judges by what it finds there.  Looking is cheaper than clearing what is clear. */
static void forget_errors(const struct ssllib *lib)
{
    if (lib->ERR_peek_last_error() != 0)
        lib->ERR_clear_error();
}

ssize_t tls_read(struct tls *t, void *buf, size_t n)
{
    if (t->failed)
        return -EPROTO;
    forget_errors(t->ctx->lib);
    return judge_result(t, t->ctx->lib->SSL_read(t->ssl, buf, (int)MIN(n, (size_t)INT_MAX)),
                        &t->read_waits_write, SSL_ERROR_WANT_READ);
}

ssize_t tls_peek(struct tls *t, void *buf, size_t n)
{
    if (t->failed)
        return -EPROTO;
    forget_errors(t->ctx->lib);
    return judge_result(t, t->ctx->lib->SSL_peek(t->ssl, buf, (int)MIN(n, (size_t)INT_MAX)),
                        &t->read_waits_write, SSL_ERROR_WANT_READ);
}

ssize_t tls_write(struct tls *t, const void *buf, size_t n)
{
    if (t->failed)
        return -EPROTO;
    forget_errors(t->ctx->lib);
    return judge_result(t, t->ctx->lib->SSL_write(t->ssl, buf, (int)MIN(n, (size_t)INT_MAX)),
                        &t->write_waits_read, SSL_ERROR_WANT_WRITE);
}

bool tls_write_waits_read(const struct tls *t)
{
    return t->write_waits_read;
}

bool tls_read_waits_write(const struct tls *t)
{
    return t->read_waits_write;
}

void tls_more(struct tls *t, bool more)
{
    t->socket.more = more;
}

int tls_move(struct tls *t, int fd)
{
    t->socket.fd = fd;
    return 0;
}

void tls_hold(struct tls *t, bool hold)
{
    t->socket.held = hold;
}

bool tls_has_input(const struct tls *t)
{
    return t->ctx->lib->SSL_pending(t->ssl) > 0;
}

const char *tls_why(const struct tls *t)
{
    return t->why[0] ? t->why : NULL;
}

/* ---- the peer -------------------------------------------------------------------------------- */

bool tls_is_up(const struct tls *t)
{
    return t->ctx->lib->SSL_is_init_finished(t->ssl) == 1;
}

const char *tls_cipher(const struct tls *t, char *buf, size_t size)
{
    const struct ssllib *lib = t->ctx->lib;
    const SSL_CIPHER *cipher = lib->SSL_get_current_cipher(t->ssl);

    (void)snprintf(buf, size, "%s, %s", lib->SSL_get_version(t->ssl),
                   cipher ? lib->SSL_CIPHER_get_name(cipher) : "no cipher"); /* cut is fine */
    return buf;
}

int tls_binding(const struct tls *t, uint8_t ret_binding[TLS_BINDING_SIZE])
{
    if (!tls_is_up(t) || t->ctx->lib->SSL_export_keying_material(
                             t->ssl, ret_binding, TLS_BINDING_SIZE, BINDING_LABEL,
                             strlen(BINDING_LABEL), NULL, 0, 0) != 1)
        return -EPROTO;
    return 0;
}

bool tls_peer_name(const struct tls *t, char *ret_name, size_t size)
{
    const struct ssllib *lib = t->ctx->lib;
    X509 *x = lib->SSL_get1_peer_certificate(t->ssl);

    ret_name[0] = '\0';
    if (!x)
        return false;
    if (lib->X509_NAME_get_text_by_NID(lib->X509_get_subject_name(x), NID_commonName, ret_name,
                                       (int)size) < 0)
        ret_name[0] = '\0';
    lib->X509_free(x);
    return true;
}
