/* auth_jwt.c - bearer tokens: JWT, HS256, the claims exp, iat and sun
 *
 * Owns nothing; any thread.  A token comes from outside: its length is bounded first, the signature
 * is checked over the raw text before any of it is parsed further than the header, which names the
 * key. */
#include "wire/auth/auth.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/auth/auth_impl.h"
#include "wire/auth/crypto.h"

#define TOKEN_MAX 8192u
#define USER_MAX 256u
#define USEC_PER_S INT64_C(1000000)
#define FOREVER_S INT64_C(253402300799) /* the last second of the year 9999 */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* base64url without padding; out holds 4 * (len / 3) + 4 bytes.  Returns the end. */
static char *b64_put(const uint8_t *data, size_t len, char *out)
{
    uint32_t acc = 0;
    unsigned bits = 0;

    for (size_t i = 0; i < len; i++) {
        acc = acc << 8 | data[i];
        for (bits += 8; bits >= 6; bits -= 6)
            *out++ = alphabet[acc >> (bits - 6) & 63];
    }
    if (bits)
        *out++ = alphabet[acc << (6 - bits) & 63];
    *out = '\0';
    return out;
}

static int b64_value(char c)
{
    const char *p = c ? strchr(alphabet, c) : NULL;

    return p ? (int)(p - alphabet) : -1;
}

/* Decode len characters; out holds len bytes.  Returns bytes or -EINVAL; only the canonical form is
 * taken, so that one token has one text. */
static ssize_t b64_get(const char *text, size_t len, uint8_t *out)
{
    uint32_t acc = 0;
    unsigned bits = 0;
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        int v = b64_value(text[i]);

        if (v < 0)
            return -EINVAL;
        acc = acc << 6 | (uint32_t)v;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            out[n++] = (uint8_t)(acc >> bits);
        }
    }
    if (bits >= 6 || (acc & ((1u << bits) - 1)))
        return -EINVAL;
    return (ssize_t)n;
}

int auth_jwt_make(const struct auth_keys *keys, const char *user, int64_t now_us,
                  uint64_t lifespan_s, char **ret_token)
{
    int64_t now_s = now_us / USEC_PER_S;
    int64_t exp_s = now_s;
    json_auto_t *head = NULL;
    json_auto_t *claims = NULL;
    _cleanup_free_ char *head_text = NULL, *claims_text = NULL, *token = NULL;
    uint8_t mac[AUTH_MAC_SIZE];
    size_t head_len, claims_len;
    char *p;
    int r;

    if (!user[0] || strlen(user) > USER_MAX)
        return -EINVAL;
    exp_s = lifespan_s > (uint64_t)(FOREVER_S - now_s) ? FOREVER_S : now_s + (int64_t)lifespan_s;
    head = json_pack("{s:s, s:s, s:s}", "alg", "HS256", "kid", keys->keys[0].kid, "typ", "JWT");
    claims = json_pack("{s:I, s:I, s:s}", "exp", (json_int_t)exp_s, "iat", (json_int_t)now_s, "sun",
                       user);
    if (!claims)
        return -EINVAL; /* the name is not UTF-8 */
    head_text = json_dumps(head, JSON_COMPACT);
    claims_text = json_dumps(claims, JSON_COMPACT);
    if (!head_text || !claims_text)
        return -ENOMEM;
    head_len = strlen(head_text);
    claims_len = strlen(claims_text);
    token = malloc(2 * (head_len + claims_len) + 2 * AUTH_MAC_SIZE + 16);
    if (!token)
        return -ENOMEM;
    p = b64_put((const uint8_t *)head_text, head_len, token);
    *p++ = '.';
    p = b64_put((const uint8_t *)claims_text, claims_len, p);
    r = auth_sign(keys, token, (size_t)(p - token), mac, NULL);
    if (r < 0)
        return r;
    *p++ = '.';
    (void)b64_put(mac, sizeof(mac), p); /* the end is not needed */
    *ret_token = TAKE_PTR(token);
    return 0;
}

static json_t *decode_json(const char *text, size_t len)
{
    uint8_t buf[TOKEN_MAX];
    ssize_t n = b64_get(text, len, buf);
    json_t *j =
        n < 0 ? NULL : json_loadb((const char *)buf, (size_t)n, JSON_REJECT_DUPLICATES, NULL);

    if (j && !json_is_object(j)) {
        json_decref(j);
        return NULL;
    }
    return j;
}

/* The header of a token: its first part, of `len` characters. */
static int read_head(const char *text, size_t len, json_t **ret_head, struct err *err)
{
    json_t *head = decode_json(text, len);
    const char *alg = json_string_value(json_object_get(head, "alg"));

    if (!alg || strcmp(alg, "HS256") != 0) {
        json_decref(head);
        return err_set(err, -EINVAL, "token: not a JWT signed with HS256");
    }
    *ret_head = head;
    return 0;
}

int auth_jwt_signatures(const struct auth_keys *keys, const char *shown, size_t len,
                        uint8_t signatures[AUTH_KEY_MAX][AUTH_MAC_SIZE], size_t *ret_n,
                        struct err *err)
{
    const char *dot = len <= TOKEN_MAX ? memchr(shown, '.', len) : NULL;
    json_auto_t *head = NULL;
    const char *kid;
    size_t n = 0;
    int r;

    if (!dot)
        return err_set(err, -EINVAL, "token: not of the form header.claims.signature");
    r = read_head(shown, (size_t)(dot - shown), &head, err);
    if (r < 0)
        return r;
    kid = json_string_value(json_object_get(head, "kid"));
    for (size_t i = 0; i < keys->n; i++) {
        if (kid && strcmp(kid, keys->keys[i].kid) != 0)
            continue;
        r = crypto_hmac(keys->keys[i].secret, AUTH_KEY_SIZE, shown, len, signatures[n++]);
        if (r < 0)
            return err_set(err, r, "token: cannot be verified: %s", strerror(-r));
    }
    if (n == 0)
        return err_set(err, -EACCES, "token: not signed with a key of this cluster");
    *ret_n = n;
    return 0;
}

static int check_claims(const json_t *claims, int64_t now_us, char **ret_user, struct err *err)
{
    const json_t *exp = json_object_get(claims, "exp");
    const json_t *nbf = json_object_get(claims, "nbf");
    const char *user = json_string_value(json_object_get(claims, "sun"));
    double now_s = (double)now_us / (double)USEC_PER_S;
    char *copy;

    if (!user)
        user = json_string_value(json_object_get(claims, "username"));
    if (!user || !user[0] || strlen(user) > USER_MAX)
        return err_set(err, -EINVAL, "token: names no user (claim sun)");
    if (!json_is_number(exp))
        return err_set(err, -EINVAL, "token: has no time of expiry (claim exp)");
    if (json_number_value(exp) <= now_s)
        return err_set(err, -EKEYEXPIRED, "token: expired");
    if (nbf && (!json_is_number(nbf) || json_number_value(nbf) > now_s))
        return err_set(err, -EACCES, "token: not valid yet");
    copy = strdup(user);
    if (!copy)
        return err_set(err, -ENOMEM, "token: out of memory");
    *ret_user = copy;
    return 0;
}

/* Where the signature begins, and what it is. */
static int split_token(const char *token, size_t len, size_t *ret_shown,
                       uint8_t signature[AUTH_MAC_SIZE], struct err *err)
{
    uint8_t mac[AUTH_MAC_SIZE + 16];
    const char *dot1, *dot2;
    size_t sig_len;

    if (len > TOKEN_MAX)
        return err_set(err, -EINVAL, "token: longer than %u bytes", TOKEN_MAX);
    dot1 = memchr(token, '.', len);
    dot2 = dot1 ? memchr(dot1 + 1, '.', len - (size_t)(dot1 + 1 - token)) : NULL;
    if (!dot2)
        return err_set(err, -EINVAL, "token: not of the form header.claims.signature");
    sig_len = len - (size_t)(dot2 + 1 - token);
    if (sig_len > sizeof(mac) || b64_get(dot2 + 1, sig_len, mac) != AUTH_MAC_SIZE)
        return err_set(err, -EINVAL, "token: malformed signature");
    memcpy(signature, mac, AUTH_MAC_SIZE);
    *ret_shown = (size_t)(dot2 - token);
    return 0;
}

int auth_jwt_split(const char *token, size_t *ret_shown, uint8_t signature[AUTH_MAC_SIZE],
                   struct err *err)
{
    return split_token(token, strlen(token), ret_shown, signature, err);
}

int auth_jwt_user(const char *shown, size_t len, int64_t now_us, char **ret_user, struct err *err)
{
    const char *dot = len <= TOKEN_MAX ? memchr(shown, '.', len) : NULL;
    json_auto_t *claims = NULL;

    if (dot)
        claims = decode_json(dot + 1, len - (size_t)(dot + 1 - shown));
    if (!claims)
        return err_set(err, -EINVAL, "token: claims are not a JSON object");
    return check_claims(claims, now_us, ret_user, err);
}

int auth_jwt_verify(const struct auth_keys *keys, const char *token, size_t len, int64_t now_us,
                    char **ret_user, struct err *err)
{
    uint8_t mac[AUTH_MAC_SIZE], good[AUTH_KEY_MAX][AUTH_MAC_SIZE];
    size_t shown, n = 0;
    bool signed_here = false;
    int r = split_token(token, len, &shown, mac, err);

    if (r == 0)
        r = auth_jwt_signatures(keys, token, shown, good, &n, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        signed_here = crypto_equal(good[i], mac, AUTH_MAC_SIZE) || signed_here;
    if (!signed_here)
        return err_set(err, -EACCES, "token: not signed with a key of this cluster");
    return auth_jwt_user(token, shown, now_us, ret_user, err);
}
