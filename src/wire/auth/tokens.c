/* tokens.c - whose bearer tokens are believed; see tokens.h
 *
 * Owns a key of its own (wiped when freed), a set of public keys, and a reference to the cluster's
 * keys.  A token says its algorithm, and a key is used with its own algorithm alone: a public key
 * is never a secret of HS256. */
#include "wire/auth/tokens.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/timefmt.h"
#include "wire/auth/auth_impl.h"
#include "wire/auth/crypto.h"
#include "wire/auth/jwks.h"

#define SECRET_MIN 16u
#define SECRET_MAX 8192u

struct auth_tokens {
    atomic_uint refs;       /* beyond the first */
    struct auth_keys *keys; /* of the cluster; NULL: another way was configured, or none */
    uint8_t *secret;        /* jwt_key=; NULL: none */
    size_t secret_len;
    struct jwks *jwks; /* NULL: none */
    char *user_claim;  /* NULL: the usual ones */
    struct jwt_rules rules;
};

DEFINE_CLEANUP(struct auth_tokens *, auth_tokens_free)

struct auth_tokens *auth_tokens_free(struct auth_tokens *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) > 0)
        return NULL;
    (void)auth_keys_free(t->keys); /* always NULL */
    if (t->secret)
        explicit_bzero(t->secret, t->secret_len);
    free(t->secret);
    (void)jwks_free(t->jwks); /* always NULL */
    free(t->user_claim);
    free(t);
    return NULL;
}

struct auth_tokens *auth_tokens_ref(struct auth_tokens *t)
{
    atomic_fetch_add(&t->refs, 1);
    return t;
}

static int load_secret(struct auth_tokens *t, const char *path, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t len = 0;
    int r = stat(path, &st) < 0 ? -errno : 0;

    if (r == 0 && (st.st_mode & 07))
        return err_set(err, -EPERM, "%s: mode is %03o: others have access to the key", path,
                       st.st_mode & 0777u);
    if (r == 0)
        r = readfile(path, SECRET_MAX, &text, &len);
    if (r < 0)
        return err_set(err, r, "%s: %s", path, strerror(-r));
    if (len < SECRET_MIN)
        return err_set(err, -EINVAL, "%s: a key has at least %u bytes", path, SECRET_MIN);
    t->secret = (uint8_t *)TAKE_PTR(text);
    t->secret_len = len;
    return 0;
}

int auth_tokens_new(const struct token_rules *rules, struct auth_keys *keys,
                    struct auth_tokens **ret, struct err *err)
{
    _cleanup_(auth_tokens_free) struct auth_tokens *t = calloc(1, sizeof(*t));
    int r = 0;

    if (!t)
        return err_nomem(err);
    t->rules = rules->jwt;
    if (rules->jwt.user_claim) {
        t->user_claim = strdup(rules->jwt.user_claim);
        if (!t->user_claim)
            return err_nomem(err);
        t->rules.user_claim = t->user_claim;
    }
    if (rules->key_file)
        r = load_secret(t, rules->key_file, err);
    if (r == 0 && rules->jwks_file)
        r = jwks_load(rules->jwks_file, &t->jwks, err);
    if (r < 0)
        return r;
    if (!t->secret && !t->jwks && keys)
        t->keys = auth_keys_ref(keys);
    *ret = TAKE_PTR(t);
    return 0;
}

int auth_tokens_make(const struct auth_tokens *t, const char *user, int64_t now_us,
                     uint64_t lifespan_s, char **ret_token)
{
    const struct auth_key *signer = t->keys ? auth_keys_signer(t->keys, now_us) : NULL;
    _cleanup_free_ char *token = NULL;
    uint8_t mac[AUTH_MAC_SIZE];
    int r = signer || t->secret ? 0 : -EPERM;

    if (r == 0)
        r = jwt_begin(signer ? signer->kid : NULL, user, now_us, lifespan_s, &token);
    if (r < 0)
        return r;
    if (t->keys)
        r = auth_sign(t->keys, token, strlen(token), mac, NULL);
    else
        crypto_hmac(t->secret, t->secret_len, token, strlen(token), mac);
    if (r < 0)
        return r;
    jwt_append(token, mac);
    explicit_bzero(mac, sizeof(mac));
    *ret_token = TAKE_PTR(token);
    return 0;
}

/* HS256: the signatures of all keys that the header may mean. */
static void sign_shared(const struct auth_tokens *t, const struct jwt_head *head, const char *shown,
                        size_t len, uint8_t signatures[AUTH_KEY_MAX][AUTH_MAC_SIZE], size_t *ret_n)
{
    size_t n = 0;

    if (t->secret)
        crypto_hmac(t->secret, t->secret_len, shown, len, signatures[n++]);
    for (size_t i = 0; t->keys && i < t->keys->n; i++)
        if (auth_key_lives(&t->keys->keys[i], now_us()) &&
            (!head->has_kid || strcmp(head->kid, t->keys->keys[i].kid) == 0))
            crypto_hmac(t->keys->keys[i].secret, AUTH_KEY_SIZE, shown, len, signatures[n++]);
    *ret_n = n;
}

int auth_tokens_signatures(const struct auth_tokens *t, const char *shown, size_t len,
                           uint8_t signatures[AUTH_KEY_MAX][AUTH_MAC_SIZE], size_t *ret_n,
                           struct err *err)
{
    struct jwt_head head;
    size_t n = 0;
    int r = jwt_read_head(shown, len, &head, err);

    if (r < 0)
        return r;
    if (head.alg != JWT_HS256)
        return err_set(err, -EINVAL, "token: its signature is no secret of this cluster");
    sign_shared(t, &head, shown, len, signatures, &n);
    if (n == 0)
        return err_set(err, -EACCES, "token: not signed with a key of this cluster");
    *ret_n = n;
    return 0;
}

int auth_tokens_user(const struct auth_tokens *t, const char *shown, size_t len, int64_t now_us,
                     struct jwt_user *ret, struct err *err)
{
    return jwt_read_claims(shown, len, now_us, &t->rules, ret, err);
}

static int check_shared(const struct auth_tokens *t, const char *token, size_t shown,
                        const uint8_t *signature, size_t signature_len, struct err *err)
{
    uint8_t good[AUTH_KEY_MAX][AUTH_MAC_SIZE];
    bool equal = false;
    size_t n = 0;
    int r = auth_tokens_signatures(t, token, shown, good, &n, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n && signature_len == AUTH_MAC_SIZE; i++)
        equal = crypto_equal(good[i], signature, AUTH_MAC_SIZE) || equal;
    explicit_bzero(good, sizeof(good));
    return equal ? 0 : err_set(err, -EACCES, "token: not signed with a key of this cluster");
}

int auth_tokens_verify(const struct auth_tokens *t, const char *token, size_t len, int64_t now_us,
                       struct jwt_user *ret, struct err *err)
{
    uint8_t signature[JWT_SIGNATURE_MAX];
    size_t signature_len, shown;
    struct jwt_head head;
    int r = jwt_signature(token, len, signature, &signature_len, &shown, err);

    if (r == 0)
        r = jwt_read_head(token, shown, &head, err);
    if (r < 0)
        return r;
    if (head.alg == JWT_HS256)
        r = check_shared(t, token, shown, signature, signature_len, err);
    else if (t->jwks)
        r = jwks_verify(t->jwks, &head, token, shown, signature, signature_len, err);
    else
        r = err_set(err, -EACCES, "token: signed with a public key, and jwks= names none");
    return r < 0 ? r : auth_tokens_user(t, token, shown, now_us, ret, err);
}
