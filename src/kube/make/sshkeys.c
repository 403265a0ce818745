/* sshkeys.c - see sshkeys.h */
#include "kube/make/sshkeys.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define BLOB_MOST 8192u /* a private key of 4096 bits takes 3.2 KiB */
#define LINE_CHARS 70u
#define PAD_TO 8u

static const struct {
    const char *file, *public_file, *openssl, *ssh;
} types[SSHKEYS_TYPES] = {
    [SSHKEYS_RSA] = { "ssh_host_rsa_key", "ssh_host_rsa_key.pub", "RSA", "ssh-rsa" },
    [SSHKEYS_ED25519] = { "ssh_host_ed25519_key", "ssh_host_ed25519_key.pub", "ED25519",
                          "ssh-ed25519" },
    [SSHKEYS_ECDSA] = { "ssh_host_ecdsa_key", "ssh_host_ecdsa_key.pub", "EC",
                        "ecdsa-sha2-nistp256" },
};

const char *sshkeys_file(enum sshkeys_type type)
{
    return types[type].file;
}

const char *sshkeys_public_file(enum sshkeys_type type)
{
    return types[type].public_file;
}

void sshkey_done(struct sshkey *k)
{
    if (k->secret)
        explicit_bzero(k->secret, strlen(k->secret));
    free(k->secret);
    free(k->public);
    *k = (struct sshkey){ 0 };
}

/* ---- fields of ssh --------------------------------------------------------------------------- */

struct blob {
    size_t len;
    bool failed; /* too long, or OpenSSL had no such number */
    unsigned char bytes[BLOB_MOST];
};

static void wipe_blob(struct blob *b)
{
    explicit_bzero(b, sizeof(*b));
}

static void add_bytes(struct blob *b, const void *data, size_t n)
{
    if (b->failed || n > sizeof(b->bytes) - b->len) {
        b->failed = true;
        return;
    }
    memcpy(b->bytes + b->len, data, n);
    b->len += n;
}

static void add_u32(struct blob *b, uint32_t v)
{
    const unsigned char be[] = { (unsigned char)(v >> 24), (unsigned char)(v >> 16),
                                 (unsigned char)(v >> 8), (unsigned char)v };

    add_bytes(b, be, sizeof(be));
}

static void add_string(struct blob *b, const void *data, size_t n)
{
    add_u32(b, (uint32_t)n);
    add_bytes(b, data, n);
}

static void add_text(struct blob *b, const char *text)
{
    add_string(b, text, strlen(text));
}

/* A whole number of the key as mpint: one byte 0 ahead when the first bit is set. */
static void add_number(struct blob *b, const EVP_PKEY *key, const char *name)
{
    unsigned char bytes[SSHKEYS_RSA_BITS / 8 + 1];
    BIGNUM *n = NULL;
    int len = 0;

    bytes[0] = 0;
    if (!EVP_PKEY_get_bn_param(key, name, &n) || BN_num_bytes(n) >= (int)sizeof(bytes) ||
        (len = BN_bn2bin(n, bytes + 1)) <= 0)
        b->failed = true;
    else if (bytes[1] & 0x80)
        add_string(b, bytes, (size_t)len + 1);
    else
        add_string(b, bytes + 1, (size_t)len);
    BN_clear_free(n);
    explicit_bzero(bytes, sizeof(bytes));
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void add_public(struct blob *b, enum sshkeys_type type, const EVP_PKEY *key)
{
    unsigned char point[133];
    size_t len = sizeof(point);

    add_text(b, types[type].ssh);
    if (type == SSHKEYS_RSA) {
        add_number(b, key, OSSL_PKEY_PARAM_RSA_E);
        add_number(b, key, OSSL_PKEY_PARAM_RSA_N);
        return;
    }
    if (type == SSHKEYS_ECDSA)
        add_text(b, "nistp256");
    if (!EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &len))
        b->failed = true;
    else
        add_string(b, point, len);
}

static void add_secret_rsa(struct blob *b, const EVP_PKEY *key)
{
    static const char *const numbers[] = {
        OSSL_PKEY_PARAM_RSA_N,       OSSL_PKEY_PARAM_RSA_E,
        OSSL_PKEY_PARAM_RSA_D,       OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
        OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,
    };

    add_text(b, types[SSHKEYS_RSA].ssh);
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        add_number(b, key, numbers[i]);
}

static void add_secret_ed25519(struct blob *b, const EVP_PKEY *key)
{
    unsigned char both[64]; /* the seed, then the public key */
    size_t seed = 32, public = 32;

    add_public(b, SSHKEYS_ED25519, key);
    if (EVP_PKEY_get_raw_private_key(key, both, &seed) != 1 || seed != 32 ||
        EVP_PKEY_get_raw_public_key(key, both + 32, &public) != 1 || public != 32)
        b->failed = true;
    else
        add_string(b, both, sizeof(both));
    explicit_bzero(both, sizeof(both));
}

static void add_secret(struct blob *b, enum sshkeys_type type, const EVP_PKEY *key)
{
    uint32_t check;

    if (RAND_bytes((unsigned char *)&check, sizeof(check)) != 1)
        b->failed = true;
    add_u32(b, check); /* twice: a wrong passphrase would show as two numbers */
    add_u32(b, check);
    if (type == SSHKEYS_RSA) {
        add_secret_rsa(b, key);
    } else if (type == SSHKEYS_ED25519) {
        add_secret_ed25519(b, key);
    } else {
        add_public(b, type, key);
        add_number(b, key, OSSL_PKEY_PARAM_PRIV_KEY);
    }
    add_text(b, ""); /* the comment */
    for (unsigned char pad = 1; b->len % PAD_TO && !b->failed; pad++)
        add_bytes(b, &pad, 1);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *write_public(const struct blob *public, const char *ssh)
{
    size_t head = strlen(ssh) + 1;
    char *line = malloc(head + public->len / 3 * 4 + 8);

    if (!line)
        return NULL;
    memcpy(line, ssh, head - 1);
    line[head - 1] = ' ';
    (void)EVP_EncodeBlock((unsigned char *)line + head, public->bytes, (int)public->len);
    (void)strncat(line, "\n", 2); /* there is room for eight more */
    return line;
}

static char *write_secret(const struct blob *whole)
{
    static const char first[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
    static const char last[] = "-----END OPENSSH PRIVATE KEY-----\n";
    char digits[BLOB_MOST / 3 * 4 + 8];
    size_t n, size, at = sizeof(first) - 1;
    char *text;

    n = (size_t)EVP_EncodeBlock((unsigned char *)digits, whole->bytes, (int)whole->len);
    size = sizeof(first) + sizeof(last) + n + n / LINE_CHARS + 2;
    text = malloc(size);
    if (text) {
        memcpy(text, first, at);
        for (size_t i = 0; i < n; i += LINE_CHARS) {
            size_t part = MIN(n - i, LINE_CHARS);

            memcpy(text + at, digits + i, part);
            at += part;
            text[at++] = '\n';
        }
        memcpy(text + at, last, sizeof(last));
    }
    explicit_bzero(digits, sizeof(digits));
    return text;
}

static int write_key(enum sshkeys_type type, const EVP_PKEY *key, struct sshkey *ret)
{
    struct blob public = { 0 }, secret = { 0 }, whole = { 0 };
    struct sshkey k = { 0 };
    int r = -EIO;

    add_public(&public, type, key);
    add_secret(&secret, type, key);
    add_bytes(&whole, "openssh-key-v1", 15); /* with its NUL */
    add_text(&whole, "none");
    add_text(&whole, "none");
    add_text(&whole, "");
    add_u32(&whole, 1);
    add_string(&whole, public.bytes, public.len);
    add_string(&whole, secret.bytes, secret.len);
    if (!public.failed && !secret.failed && !whole.failed) {
        k = (struct sshkey){ write_secret(&whole), write_public(&public, types[type].ssh) };
        r = k.secret && k.public ? 0 : -ENOMEM;
    }
    wipe_blob(&secret);
    wipe_blob(&whole);
    if (r == 0)
        *ret = k;
    else
        sshkey_done(&k);
    return r;
}

/* ---- making ---------------------------------------------------------------------------------- */

struct wish {
    bool (*go_on)(void *ctx);
    void *ctx;
};

/* OpenSSL stops when it is answered 0. */
static int see_progress(EVP_PKEY_CTX *ctx)
{
    const struct wish *w = EVP_PKEY_CTX_get_app_data(ctx);

    return w->go_on(w->ctx);
}

int sshkeys_make(enum sshkeys_type type, bool (*go_on)(void *ctx), void *ctx, struct sshkey *ret)
{
    struct wish w = { go_on, ctx };
    EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, types[type].openssl, NULL);
    EVP_PKEY *key = NULL;
    unsigned bits = SSHKEYS_RSA_BITS;
    char curve[] = "P-256";
    const OSSL_PARAM rsa[] = { OSSL_PARAM_construct_uint(OSSL_PKEY_PARAM_RSA_BITS, &bits),
                               OSSL_PARAM_construct_end() };
    const OSSL_PARAM ec[] = { OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve,
                                                               0),
                              OSSL_PARAM_construct_end() };
    const OSSL_PARAM *params = type == SSHKEYS_RSA ? rsa : type == SSHKEYS_ECDSA ? ec : NULL;
    int r = -EIO;

    if (maker && EVP_PKEY_keygen_init(maker) == 1 &&
        (!params || EVP_PKEY_CTX_set_params(maker, params) == 1)) {
        EVP_PKEY_CTX_set_app_data(maker, &w);
        EVP_PKEY_CTX_set_cb(maker, see_progress);
        if (EVP_PKEY_generate(maker, &key) == 1)
            r = write_key(type, key, ret);
        else if (!go_on(ctx))
            r = -ECANCELED;
    }
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(maker);
    return r;
}
