/* jwt.c - the text of bearer tokens; see jwt.h
 *
 * Owns nothing.  The order of looking at a token is its length, its header, its signature (by
 * the caller), its claims. */
#include "wire/auth/jwt.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

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

ssize_t jwt_base64(const char *text, size_t len, uint8_t *out)
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

/* ---- reading --------------------------------------------------------------------------------- */

static json_t *decode_json(const char *text, size_t len)
{
    uint8_t buf[JWT_MAX];
    ssize_t n = len <= JWT_MAX ? jwt_base64(text, len, buf) : -EINVAL;
    json_t *j =
        n < 0 ? NULL : json_loadb((const char *)buf, (size_t)n, JSON_REJECT_DUPLICATES, NULL);

    if (j && !json_is_object(j)) {
        json_decref(j);
        return NULL;
    }
    return j;
}

static int take_alg(const char *name, enum jwt_alg *ret)
{
    static const char *const names[] = {
        [JWT_HS256] = "HS256", [JWT_RS256] = "RS256", [JWT_ES256] = "ES256"
    };

    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum jwt_alg)i;
            return 0;
        }
    return -EINVAL;
}

int jwt_read_head(const char *token, size_t len, struct jwt_head *ret, struct err *err)
{
    const char *dot = len <= JWT_MAX ? memchr(token, '.', len) : NULL;
    json_auto_t *head = NULL;
    const json_t *kid;
    struct jwt_head h = { .has_kid = false };

    if (len > JWT_MAX)
        return err_set(err, -EINVAL, "token: longer than %u bytes", JWT_MAX);
    if (!dot)
        return err_set(err, -EINVAL, "token: not of the form header.claims.signature");
    head = decode_json(token, (size_t)(dot - token));
    if (take_alg(json_string_value(json_object_get(head, "alg")), &h.alg) < 0)
        return err_set(err, -EINVAL, "token: not a JWT signed with HS256, RS256 or ES256");
    if (json_object_get(head, "crit"))
        return err_set(err, -EINVAL, "token: its header asks for what is not known here (crit)");
    kid = json_object_get(head, "kid");
    if (kid && (!json_is_string(kid) || json_string_length(kid) > JWT_KID_MAX))
        return err_set(err, -EINVAL, "token: the name of its key (kid) is no text of %u bytes",
                       JWT_KID_MAX);
    if (kid) {
        h.has_kid = true;
        (void)snprintf(h.kid, sizeof(h.kid), "%s", json_string_value(kid)); /* its length fits */
    }
    *ret = h;
    return 0;
}

int jwt_signature(const char *token, size_t len, uint8_t signature[JWT_SIGNATURE_MAX],
                  size_t *ret_len, size_t *ret_shown, struct err *err)
{
    const char *dot1, *dot2;
    size_t sig_len;
    ssize_t n;

    if (len > JWT_MAX)
        return err_set(err, -EINVAL, "token: longer than %u bytes", JWT_MAX);
    dot1 = memchr(token, '.', len);
    dot2 = dot1 ? memchr(dot1 + 1, '.', len - (size_t)(dot1 + 1 - token)) : NULL;
    if (!dot2)
        return err_set(err, -EINVAL, "token: not of the form header.claims.signature");
    sig_len = len - (size_t)(dot2 + 1 - token);
    n = sig_len <= JWT_SIGNATURE_MAX / 3 * 4 ? jwt_base64(dot2 + 1, sig_len, signature) : -EINVAL;
    if (n <= 0)
        return err_set(err, -EINVAL, "token: malformed signature");
    *ret_len = (size_t)n;
    *ret_shown = (size_t)(dot2 - token);
    return 0;
}

static bool read_number(const json_t *claims, const char *name, uint32_t *ret)
{
    const json_t *j = json_object_get(claims, name);

    if (!json_is_integer(j) || json_integer_value(j) < 0 || json_integer_value(j) >= UINT32_MAX)
        return false;
    *ret = (uint32_t)json_integer_value(j);
    return true;
}

/* Are the numbers of the user there, with all that belongs to them? */
static bool read_ids(const json_t *claims, struct jwt_user *user)
{
    static const char *const texts[] = { "name", "gecos", "dir", "shell" };
    const json_t *id = json_object_get(claims, "id");
    bool by_name = json_is_object(json_object_get(id, "groups"));
    bool by_number = json_is_array(json_object_get(id, "gids"));
    uint32_t uid, gid;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (!json_is_string(json_object_get(id, texts[i])))
            return false;
    if (by_name == by_number || !read_number(claims, "uid", &uid) ||
        !read_number(claims, "gid", &gid))
        return false;
    user->has_ids = true;
    user->uid = uid;
    user->gid = gid;
    return true;
}

static int check_times(const json_t *claims, int64_t now_us, struct err *err)
{
    const json_t *exp = json_object_get(claims, "exp");
    const json_t *nbf = json_object_get(claims, "nbf");
    double now_s = (double)now_us / (double)USEC_PER_S;

    if (!json_is_number(exp))
        return err_set(err, -EINVAL, "token: has no time of expiry (claim exp)");
    if (json_number_value(exp) <= now_s)
        return err_set(err, -EKEYEXPIRED, "token: expired");
    if (nbf && (!json_is_number(nbf) || json_number_value(nbf) > now_s))
        return err_set(err, -EACCES, "token: not valid yet");
    return 0;
}

static int read_user(const json_t *claims, const struct jwt_rules *rules, const char **ret,
                     struct err *err)
{
    const char *claim = rules->user_claim ? rules->user_claim : "sun";
    const json_t *user = json_object_get(claims, claim);

    if (!user && !rules->user_claim)
        user = json_object_get(claims, "username");
    if (!json_is_string(user) || !json_string_length(user) || json_string_length(user) > USER_MAX)
        return err_set(err, -EINVAL, "token: names no user (claim %.64s)", claim);
    *ret = json_string_value(user);
    return 0;
}

int jwt_read_claims(const char *token, size_t shown, int64_t now_us, const struct jwt_rules *rules,
                    struct jwt_user *ret, struct err *err)
{
    const char *dot = shown <= JWT_MAX ? memchr(token, '.', shown) : NULL;
    json_auto_t *claims = NULL;
    struct jwt_user user = { .name = NULL };
    const char *name = NULL;
    int r;

    if (dot)
        claims = decode_json(dot + 1, shown - (size_t)(dot + 1 - token));
    if (!claims)
        return err_set(err, -EINVAL, "token: claims are not a JSON object");
    r = read_user(claims, rules, &name, err);
    if (r == 0)
        r = check_times(claims, now_us, err);
    if (r < 0)
        return r;
    if ((rules->client_ids || rules->client_ids_only) && !read_ids(claims, &user) &&
        rules->client_ids_only)
        return err_set(err, -EACCES,
                       "token: does not say who its user is (claims uid, gid and id), which "
                       "use_jwt_client_ids_only asks for");
    user.name = strdup(name);
    if (!user.name)
        return err_nomem_of(err, "token");
    *ret = user;
    return 0;
}

/* What the token claims, NULL: it is none.  json_decref() it. */
static json_t *claims_of(const char *token)
{
    const char *dot1 = memchr(token, '.', strnlen(token, JWT_MAX)), *dot2;

    dot2 = dot1 ? memchr(dot1 + 1, '.', strnlen(dot1 + 1, JWT_MAX)) : NULL;
    return dot2 ? decode_json(dot1 + 1, (size_t)(dot2 - dot1 - 1)) : NULL;
}

bool jwt_is_over(const char *token, int64_t now_us)
{
    json_auto_t *claims = claims_of(token);

    return !claims || check_times(claims, now_us, NULL) < 0;
}

int64_t jwt_end_us(const char *token)
{
    json_auto_t *claims = claims_of(token);
    double exp_s = json_number_value(json_object_get(claims, "exp")); /* 0: it is no number */

    if (!(exp_s > 0))
        return 0;
    return exp_s < (double)FOREVER_S ? (int64_t)(exp_s * (double)USEC_PER_S) : INT64_MAX;
}

bool jwt_is_shared(const char *token)
{
    struct jwt_head head;

    return jwt_read_head(token, strnlen(token, JWT_MAX + 1), &head, NULL) < 0 ||
           head.alg == JWT_HS256;
}

bool jwt_is_same(const char *a, const char *b)
{
    size_t len = a ? strlen(a) : 0;
    unsigned char differs = 0;

    if (!a || !b)
        return a == b;
    if (strlen(b) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return !differs;
}

/* ---- making ---------------------------------------------------------------------------------- */

int jwt_begin(const char *kid, const char *user, int64_t now_us, uint64_t lifespan_s,
              char **ret_token)
{
    int64_t now_s = now_us / USEC_PER_S;
    int64_t exp_s =
        lifespan_s > (uint64_t)(FOREVER_S - now_s) ? FOREVER_S : now_s + (int64_t)lifespan_s;
    json_auto_t *head = NULL, *claims = NULL;
    _cleanup_free_ char *head_text = NULL, *claims_text = NULL, *token = NULL;
    size_t head_len, claims_len;
    char *p;

    if (!user[0] || strlen(user) > USER_MAX)
        return -EINVAL;
    head = json_pack("{s:s, s:s*, s:s}", "alg", "HS256", "kid", kid, "typ", "JWT");
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
    (void)b64_put((const uint8_t *)claims_text, claims_len, p); /* the end is not needed */
    *ret_token = TAKE_PTR(token);
    return 0;
}

void jwt_append(char *token, const uint8_t mac[AUTH_MAC_SIZE])
{
    char *p = token + strlen(token);

    *p++ = '.';
    (void)b64_put(mac, AUTH_MAC_SIZE, p); /* likewise */
}
