/* optoken.c - see optoken.h */
#include "kube/operator/optoken.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "kube/api/kubejson.h"

#define TOKEN_MOST 8192u
#define TIME_MOST INT64_C(253402300799) /* the last second of year 9999 */

static void add_base64url(struct strbuf *out, const void *data, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *b = data;

    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)b[i] << 16 | (i + 1 < len ? (unsigned)b[i + 1] << 8 : 0) |
                     (i + 2 < len ? b[i + 2] : 0);

        for (unsigned k = 0; k < 4 && i + k <= len; k++)
            strbuf_addc(out, digits[v >> (18 - 6 * k) & 63]);
    }
}

static int make_id(char *buf, size_t size)
{
    unsigned char r[16];

    if (getrandom(r, sizeof(r), 0) != (ssize_t)sizeof(r))
        return -EIO;
    r[6] = (r[6] & 0x0f) | 0x40; /* of version 4 */
    r[8] = (r[8] & 0x3f) | 0x80;
    (void)snprintf(buf, size,
                   "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", r[0],
                   r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], r[11], r[12], r[13],
                   r[14], r[15]);
    return 0;
}

int optoken_sign(const void *key, size_t len, const char *user, int64_t now_s, int64_t lifetime_s,
                 char **ret)
{
    static const char head[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    _cleanup_json_ json_t *claims = NULL;
    _cleanup_free_ char *text = NULL;
    struct strbuf out = STRBUF_INIT;
    unsigned char mac[32];
    unsigned mac_len = 0;
    char id[40];
    int r = make_id(id, sizeof(id));

    if (r < 0)
        return r;
    claims = json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "jti", id, "iss", "slurm-operator", "iat",
                       (json_int_t)now_s, "nbf", (json_int_t)now_s, "exp",
                       (json_int_t)(now_s + lifetime_s), "sun", user);
    text = json_dumps(claims, JSON_COMPACT);
    if (!text)
        return -ENOMEM;
    add_base64url(&out, head, strlen(head));
    strbuf_addc(&out, '.');
    add_base64url(&out, text, strlen(text));
    if (out.failed || len > INT32_MAX ||
        !HMAC(EVP_sha256(), key, (int)len, (const unsigned char *)strbuf_str(&out), out.len, mac,
              &mac_len)) {
        strbuf_done(&out);
        return -ENOMEM;
    }
    strbuf_addc(&out, '.');
    add_base64url(&out, mac, mac_len);
    return strbuf_detach(&out, ret);
}

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

int optoken_read(const char *token, const char *user, int64_t *ret_issued_s, int64_t *ret_ends_s)
{
    const char *claims = strchr(token, '.'), *end = claims ? strchr(claims + 1, '.') : NULL;
    _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
    _cleanup_json_ json_t *object = NULL;
    struct err err = { .text = "" };
    unsigned bits = 0, n = 0;
    int64_t issued, ends;

    if (!end || strlen(token) > TOKEN_MOST)
        return -EINVAL;
    for (const char *c = claims + 1; c < end; c++) {
        if (digit_of(*c) < 0)
            return -EINVAL;
        bits = (bits << 6 | (unsigned)digit_of(*c)) & 0xffffff;
        n += 6;
        if (n >= 8) {
            n -= 8;
            strbuf_addc(&text, (char)(bits >> n & 0xff));
        }
    }
    if (text.failed || kubejson_parse(strbuf_str(&text), text.len, &object, &err) < 0)
        return -EINVAL;
    issued = kubejson_int(object, "iat", -1);
    ends = kubejson_int(object, "exp", -1);
    if (issued < 0 || ends < 0 || issued > TIME_MOST || ends > TIME_MOST ||
        (user && strcmp(kubejson_text(object, "sun"), user) != 0))
        return -EINVAL;
    *ret_issued_s = issued;
    *ret_ends_s = ends;
    return 0;
}
