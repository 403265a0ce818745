/* tlsctx.c - what a program knows for TLS: its certificate, whom it trusts
 *
 * Owns the library's context and the method by which it reaches sockets.  Nothing changes after
 * tls_ctx_new() but the count of references. */
#include "wire/tls/tlsctx.h"

#include <limits.h>
#include <sys/stat.h>

#include "wire/tls/sslfew.h"
#include "wire/tls/tls_impl.h"
#include "wire/tls/tlsbio.h"
#include "wire/tls/tlspair.h"

#include "base/log.h"
#include "base/readfile.h"

#define FILE_MAX (256u * 1024)
#define OWN_LIFE_S                                                                                 \
    (3650 * INT64_C(86400)) /* trust in it comes from the proof inside, never from it */
#define EXPIRES_SOON_DAYS 14
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

/* A key is for its owner's eyes alone; what we trust is nobody's else to write. */
static int check_rights(const char *path, uid_t owner, bool secret, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_set(err, -errno, "%s cannot be read: %s", path, strerrordesc_np(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%s is no file", path);
    if (st.st_uid != 0 && st.st_uid != owner && st.st_uid != geteuid())
        return err_set(err, -EACCES, "%s belongs to user %u: it must be root's or user %u's", path,
                       st.st_uid, owner);
    if (secret && (st.st_mode & 077))
        return err_set(err, -EACCES, "%s can be read by others (mode %03o): it must be of mode 600",
                       path, st.st_mode & 0777);
    if (st.st_mode & 022)
        return err_set(err, -EACCES, "%s can be written by others (mode %03o)", path,
                       st.st_mode & 0777);
    return 0;
}

/* A file's text, to be read as PEM.  Caller frees both. */
static int open_pem(const struct tls_ctx *ctx, const char *path, bool secret,
                    const struct tls_config *config, char **ret_text, size_t *ret_len,
                    BIO **ret_bio, struct err *err)
{
    int r = check_rights(path, config->owner, secret, err);

    if (r < 0)
        return r;
    r = readfile(path, FILE_MAX, ret_text, ret_len);
    if (r < 0)
        return err_set(err, r, "%s cannot be read: %s", path, strerrordesc_np(-r));
    *ret_bio = ctx->lib->BIO_new_mem_buf(*ret_text, (int)*ret_len);
    return *ret_bio ? 0 : err_nomem(err);
}

static void close_pem(const struct tls_ctx *ctx, char *text, size_t len, BIO *bio)
{
    if (bio)
        ctx->lib->BIO_free(bio);
    if (text)
        explicit_bzero(text, len);
    free(text);
}

static int add_trusted(struct tls_ctx *ctx, BIO *bio, const char *path, struct err *err)
{
    X509_STORE *store = ctx->lib->SSL_CTX_get_cert_store(ctx->ssl);
    unsigned n = 0;
    X509 *x;

    while ((x = ctx->lib->PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
        int ok = ctx->lib->X509_STORE_add_cert(store, x);

        ctx->lib->X509_free(x);
        if (!ok)
            return err_set(err, -EINVAL, "%s: %s", path, ssllib_reason(ctx->lib));
        n++;
    }
    ctx->lib->ERR_clear_error(); /* the end of the file is one */
    return n ? 0 : err_set(err, -EINVAL, "%s holds no certificate (PEM)", path);
}

/* Lists of revoked certificates: from each authority one, of authorities in between too. */
static int add_revoked(struct tls_ctx *ctx, BIO *bio, const char *path, struct err *err)
{
    X509_STORE *store = ctx->lib->SSL_CTX_get_cert_store(ctx->ssl);
    unsigned n = 0;
    X509_CRL *list;

    while ((list = ctx->lib->PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL))) {
        int ok = ctx->lib->X509_STORE_add_crl(store, list);

        ctx->lib->X509_CRL_free(list);
        if (!ok)
            return err_set(err, -EINVAL, "%s: %s", path, ssllib_reason(ctx->lib));
        n++;
    }
    ctx->lib->ERR_clear_error(); /* the end of the file is one */
    if (!n)
        return err_set(err, -EINVAL, "%s holds no list of revoked certificates (PEM)", path);
    (void)ctx->lib->X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK |
                                                    X509_V_FLAG_CRL_CHECK_ALL); /* always 1 */
    return 0;
}

/* The first certificate is ours, those behind it lead to the authority. */
static int use_chain(struct tls_ctx *ctx, BIO *bio, const char *path, struct err *err)
{
    X509 *x = ctx->lib->PEM_read_bio_X509(bio, NULL, NULL, NULL);
    int r = 0, days = 0, secs = 0;

    if (!x)
        return err_set(err, -EINVAL, "%s holds no certificate (PEM)", path);
    if (ctx->lib->ASN1_TIME_diff(&days, &secs, NULL, ctx->lib->X509_get0_notAfter(x)) != 1)
        r = err_set(err, -EINVAL, "%s: its time of expiry is none", path);
    else if (ctx->lib->SSL_CTX_use_certificate(ctx->ssl, x) != 1)
        r = err_set(err, -EINVAL, "%s: %s", path, ssllib_reason(ctx->lib));
    ctx->lib->X509_free(x);
    if (r == 0 && (days < 0 || secs < 0))
        r = err_set(err, -EKEYEXPIRED, "%s: the certificate has expired", path);
    else if (r == 0 && days < EXPIRES_SOON_DAYS)
        log_info("%s: the certificate expires in %d %s", path, days, days == 1 ? "day" : "days");
    while (r == 0 && (x = ctx->lib->PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        if (ctx->lib->SSL_CTX_ctrl(ctx->ssl, SSL_CTRL_CHAIN_CERT, 0, x) != 1) /* it takes x */
            r = err_set(err, -EINVAL, "%s: %s", path, ssllib_reason(ctx->lib));
    ctx->lib->ERR_clear_error();
    return r;
}

static int use_key(struct tls_ctx *ctx, BIO *bio, const char *path, struct err *err)
{
    EVP_PKEY *key = ctx->lib->PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)"");
    int ok;

    if (!key)
        return err_set(err, -EINVAL, "%s holds no private key (PEM, without a password)", path);
    ok = ctx->lib->SSL_CTX_use_PrivateKey(ctx->ssl, key) == 1 &&
         ctx->lib->SSL_CTX_check_private_key(ctx->ssl) == 1;
    ctx->lib->EVP_PKEY_free(key);
    return ok ? 0 : err_set(err, -EINVAL, "%s is not the key of the certificate", path);
}

static int load_file(struct tls_ctx *ctx, const struct tls_config *config, const char *path,
                     bool secret,
                     int (*use)(struct tls_ctx *ctx, BIO *bio, const char *path, struct err *err),
                     struct err *err)
{
    BIO *bio = NULL;
    char *text = NULL;
    size_t len = 0;
    int r = open_pem(ctx, path, secret, config, &text, &len, &bio, err);

    if (r == 0)
        r = use(ctx, bio, path, err);
    close_pem(ctx, text, len, bio);
    return r;
}

/* Nothing is configured and nobody has signed anything yet: a pair for as long as we live. */
static int make_own_pair(struct tls_ctx *ctx, struct err *err)
{
    const struct ssllib *lib = ctx->lib;
    EVP_PKEY *key = tlspair_key(lib);
    X509 *x = key ? tlspair_certificate(lib, "self", key, OWN_LIFE_S) : NULL;
    int r = 0;

    if (!x || lib->SSL_CTX_use_certificate(ctx->ssl, x) != 1 ||
        lib->SSL_CTX_use_PrivateKey(ctx->ssl, key) != 1)
        r = err_set(err, -EINVAL, "TLS: no key pair can be made: %s", ssllib_reason(lib));
    if (x)
        lib->X509_free(x);
    if (key)
        lib->EVP_PKEY_free(key);
    ctx->own_pair = true;
    return r;
}

/* Whoever trusts the same authorities as we do refuses our certificate: said, for those at the
 * other end may trust more. */
static void warn_unsigned(const struct tls_ctx *ctx, const struct tls_config *c)
{
    const struct ssllib *lib = ctx->lib;
    X509_STORE_CTX *check = lib->X509_STORE_CTX_new_ex(ssllib_context(sslfew_context), NULL);
    STACK_OF(X509) *between = NULL;

    (void)lib->SSL_CTX_ctrl(ctx->ssl, SSL_CTRL_GET_CHAIN_CERTS, 0, &between); /* always 1 */
    if (check &&
        lib->X509_STORE_CTX_init(check, lib->SSL_CTX_get_cert_store(ctx->ssl),
                                 lib->SSL_CTX_get0_certificate(ctx->ssl), between) == 1 &&
        lib->X509_verify_cert(check) != 1)
        log_error("%s: peers that trust %s alone refuse this certificate: %s", c->cert_file,
                  c->ca_file,
                  lib->X509_verify_cert_error_string(lib->X509_STORE_CTX_get_error(check)));
    lib->X509_STORE_CTX_free(check); /* takes NULL */
    lib->ERR_clear_error();
}

static int load_files(struct tls_ctx *ctx, const struct tls_config *c, struct err *err)
{
    int r = 0;

    if (c->need_cert && !c->cert_file)
        r = make_own_pair(ctx, err);
    if (r == 0 && c->ca_file)
        r = load_file(ctx, c, c->ca_file, false, add_trusted, err);
    if (r == 0 && c->crl_file)
        r = load_file(ctx, c, c->crl_file, false, add_revoked, err);
    if (r == 0 && c->system_certs && ctx->lib->SSL_CTX_set_default_verify_paths(ctx->ssl) != 1)
        r = err_set(err, -EINVAL, "load_system_certificates: %s", ssllib_reason(ctx->lib));
    if (r == 0 && c->cert_file)
        r = load_file(ctx, c, c->cert_file, false, use_chain, err);
    if (r == 0 && c->key_file)
        r = load_file(ctx, c, c->key_file, true, use_key, err);
    if (r == 0 && c->ca_file && c->cert_file)
        warn_unsigned(ctx, c);
    return r;
}

static int make_context(struct tls_ctx *ctx)
{
    const struct ssllib *lib = ctx->lib;
    OSSL_LIB_CTX *few = ssllib_context(sslfew_context);

    ctx->ssl = lib->SSL_CTX_new_ex(few, NULL, lib->TLS_method());
    if (!ctx->ssl && few) /* another release of the library wants more than it has */
        ctx->ssl = lib->SSL_CTX_new_ex(NULL, NULL, lib->TLS_method());
    ctx->bio = tlsbio_method(lib);
    if (!ctx->ssl || !ctx->bio)
        return -ENOMEM;
    if (lib->SSL_CTX_ctrl(ctx->ssl, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) != 1 ||
        lib->SSL_CTX_set_ciphersuites(ctx->ssl, SUITES) != 1 ||
        lib->SSL_CTX_set_num_tickets(ctx->ssl, 0) != 1)
        return -EINVAL;
    (void)lib->SSL_CTX_ctrl(ctx->ssl, SSL_CTRL_MODE,
                            SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS,
                            NULL); /* gives the modes back */
    (void)lib->SSL_CTX_ctrl(ctx->ssl, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF,
                            NULL); /* gives the old one back */
    return 0;
}

void tls_be_brief(bool brief)
{
    ssllib_be_brief(brief);
}

int tls_ctx_new(const struct tls_config *config, struct tls_ctx **ret_ctx, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *ctx = calloc(1, sizeof(*ctx));
    int r;

    if (!ctx)
        return err_nomem(err);
    atomic_init(&ctx->refs, 1);
    ctx->any_server = config->any_server;
    r = ssllib_load(&ctx->lib, err);
    if (r < 0)
        return r;
    r = make_context(ctx);
    if (r < 0)
        return err_set(err, r, "TLS: %s", ssllib_reason(ctx->lib));
    r = load_files(ctx, config, err);
    if (r < 0)
        return r;
    *ret_ctx = TAKE_PTR(ctx);
    return 0;
}

int tls_ctx_load(struct tls_config *config, struct tls_ctx **ret_ctx, struct err *err)
{
    int r = 0;

    if (config->kind == TLS_NONE)
        *ret_ctx = NULL;
    else
        r = tls_ctx_new(config, ret_ctx, err);
    tls_config_done(config);
    return r;
}

int tls_ctx_of_keys(struct tls_ctx **ret_ctx, struct err *err)
{
    return tls_ctx_new(&(struct tls_config){ .kind = TLS_FILES }, ret_ctx, err);
}

struct tls_ctx *tls_ctx_ref(struct tls_ctx *ctx)
{
    if (ctx)
        atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    return ctx;
}

struct tls_ctx *tls_ctx_unref(struct tls_ctx *ctx)
{
    int saved = errno;

    if (ctx && atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) == 1) {
        if (ctx->ssl)
            ctx->lib->SSL_CTX_free(ctx->ssl);
        if (ctx->bio)
            ctx->lib->BIO_meth_free(ctx->bio);
        free(ctx);
    }
    errno = saved;
    return NULL;
}
