/* jwks.c - a JSON Web Key Set; see jwks.h
 *
 * Owns its keys. */
#include "wire/auth/jwks.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "wire/auth/pubkey.h"

#define FILE_LIMIT (1u << 20)
#define KEYS_MAX 64u
#define NUMBER_MAX 1024u /* characters of a number in base64url */

struct jwks_key {
    enum jwt_alg alg;
    bool has_kid;
    char kid[JWT_KID_MAX + 1];
    struct pubkey *key;
};

struct jwks {
    size_t n;
    struct jwks_key keys[KEYS_MAX];
};

DEFINE_CLEANUP(struct jwks *, jwks_free)

struct jwks *jwks_free(struct jwks *set)
{
    if (!set)
        return NULL;
    for (size_t i = 0; i < set->n; i++)
        (void)pubkey_free(set->keys[i].key); /* always NULL */
    free(set);
    return NULL;
}

static bool has_value(const json_t *j, const char *name, const char *value)
{
    const char *s = json_string_value(json_object_get(j, name));

    return s && strcmp(s, value) == 0;
}

/* Bytes of a number, which is a text of base64url; -EINVAL. */
static ssize_t read_bytes(const json_t *j, const char *name, uint8_t out[NUMBER_MAX])
{
    const json_t *s = json_object_get(j, name);
    size_t len = json_string_length(s);

    return json_is_string(s) && len && len <= NUMBER_MAX
               ? jwt_base64(json_string_value(s), len, out)
               : -EINVAL;
}

static int read_rsa(const json_t *j, struct jwks_key *key, struct err *err)
{
    uint8_t n[NUMBER_MAX], e[NUMBER_MAX];
    ssize_t n_len = read_bytes(j, "n", n), e_len = read_bytes(j, "e", e);

    if (n_len < 0 || e_len < 0)
        return err_set(err, -EINVAL, "n and e are numbers in base64url");
    key->alg = JWT_RS256;
    return pubkey_rsa(n, (size_t)n_len, e, (size_t)e_len, &key->key, err);
}

static int read_p256(const json_t *j, struct jwks_key *key, struct err *err)
{
    uint8_t x[NUMBER_MAX], y[NUMBER_MAX];

    if (read_bytes(j, "x", x) != PUBKEY_P256_SIZE || read_bytes(j, "y", y) != PUBKEY_P256_SIZE)
        return err_set(err, -EINVAL, "x and y are %u bytes each in base64url", PUBKEY_P256_SIZE);
    key->alg = JWT_ES256;
    return pubkey_p256(x, y, &key->key, err);
}

/* 1: a key; 0: one for other programs. */
static int read_key(const json_t *j, struct jwks_key *key, struct err *err)
{
    const json_t *kid = json_object_get(j, "kid"), *use = json_object_get(j, "use");
    const json_t *alg = json_object_get(j, "alg");
    bool rsa = has_value(j, "kty", "RSA") && (!alg || has_value(j, "alg", "RS256"));
    bool p256 = has_value(j, "kty", "EC") && has_value(j, "crv", "P-256") &&
                (!alg || has_value(j, "alg", "ES256"));
    int r;

    if ((!rsa && !p256) || (use && !has_value(j, "use", "sig")))
        return 0;
    if (kid && (!json_is_string(kid) || json_string_length(kid) > JWT_KID_MAX))
        return err_set(err, -EINVAL, "kid is no text of at most %u bytes", JWT_KID_MAX);
    key->has_kid = kid;
    (void)snprintf(key->kid, sizeof(key->kid), "%s", kid ? json_string_value(kid) : "");
    r = rsa ? read_rsa(j, key, err) : read_p256(j, key, err);
    return r < 0 ? r : 1;
}

static int read_keys(const json_t *list, struct jwks *set, struct err *err)
{
    struct err why = { .text = "" };
    const json_t *j;
    size_t i;
    int r;

    if (json_array_size(list) > KEYS_MAX)
        return err_set(err, -EINVAL, "more than %u keys", KEYS_MAX);
    json_array_foreach(list, i, j)
    {
        r = read_key(j, &set->keys[set->n], &why);
        if (r < 0)
            return err_set(err, r, "key %zu: %s", i + 1, why.text);
        set->n += (size_t)r;
    }
    if (set->n == 0)
        return err_set(err, -EINVAL, "no key of RS256 or ES256 is in it");
    return 0;
}

int jwks_parse(const char *text, size_t len, struct jwks **ret, struct err *err)
{
    _cleanup_(jwks_free) struct jwks *set = calloc(1, sizeof(*set));
    json_auto_t *root = NULL;
    json_error_t where;
    const json_t *list;
    int r;

    if (!set)
        return err_nomem(err);
    if (len > FILE_LIMIT)
        return err_set(err, -EFBIG, "longer than %u bytes", FILE_LIMIT);
    root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return err_set(err, -EINVAL, "line %d: %s", where.line, where.text);
    list = json_object_get(root, "keys");
    if (!json_is_array(list))
        return err_set(err, -EINVAL, "not a key set: an object with a list of \"keys\" is wanted");
    r = read_keys(list, set, err);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(set);
    return 0;
}

int jwks_verify(const struct jwks *set, const struct jwt_head *head, const char *text, size_t len,
                const uint8_t *signature, size_t signature_len, struct err *err)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct jwks_key *k = &set->keys[i];

        if (k->alg != head->alg || (head->has_kid && k->has_kid && strcmp(head->kid, k->kid) != 0))
            continue;
        if (pubkey_verify(k->key, text, len, signature, signature_len) == 0)
            return 0;
    }
    return err_set(err, -EACCES, "token: not signed with a key of the key set (jwks)");
}

int jwks_load(const char *path, struct jwks **ret, struct err *err)
{
    _cleanup_free_ char *text = NULL;
    struct stat st;
    size_t len = 0;
    int r = stat(path, &st) < 0 ? -errno : 0;

    if (r == 0 && (st.st_mode & 02))
        return err_set(err, -EPERM, "%s: everybody may write it, so that it proves nothing", path);
    if (r == 0)
        r = readfile(path, FILE_LIMIT, &text, &len);
    if (r < 0)
        return err_set(err, r, "%s: %s", path, strerror(-r));
    r = jwks_parse(text, len, ret, err);
    if (r < 0)
        err_prefix(err, "%s", path);
    return r;
}
