/* etcdjson.c - see etcdjson.h */
#include "etcd/etcdjson.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/base64.h"

/* ---- base64 ---------------------------------------------------------------------------------- */

void etcd_add_base64(struct strbuf *sb, const void *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t need = (n + 2) / 3 * 4;
    const uint8_t *in = data;
    char *out = strbuf_room(sb, need);

    if (!out)
        return;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < n ? (uint32_t)in[i + 1] << 8 : 0) |
                     (i + 2 < n ? in[i + 2] : 0);

        *out++ = digits[v >> 18];
        *out++ = digits[v >> 12 & 63];
        *out++ = i + 1 < n ? digits[v >> 6 & 63] : '=';
        *out++ = i + 2 < n ? digits[v & 63] : '=';
    }
    strbuf_grew(sb, need);
}

int etcd_read_base64(const char *text, size_t n, uint8_t **ret, size_t *ret_len)
{
    _cleanup_free_ uint8_t *out = NULL;
    uint32_t bits = 0;
    size_t len = 0;

    if (n % 4)
        return -EBADMSG;
    for (int pad = 0; pad < 2 && n && text[n - 1] == '='; pad++)
        n--;
    out = malloc(n / 4 * 3 + 4);
    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        int digit = base64_digit(text[i]);

        if (digit < 0)
            return -EBADMSG;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 > 0)
            out[len++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *ret = TAKE_PTR(out);
    *ret_len = len;
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

void etcd_kvs_done(struct etcd_kvs *kvs)
{
    for (size_t i = 0; i < kvs->n; i++)
        free(kvs->v[i].value);
    free(kvs->v);
    *kvs = (struct etcd_kvs){ 0 };
}

void etcd_answer_done(struct etcd_answer *a)
{
    etcd_kvs_done(&a->kvs);
}

static int read_bytes(json_t *j, uint8_t **ret, size_t *ret_len)
{
    if (!j)
        return etcd_read_base64("", 0, ret, ret_len); /* empty values are left out */
    if (!json_is_string(j))
        return -EBADMSG;
    return etcd_read_base64(json_string_value(j), json_string_length(j), ret, ret_len);
}

static int read_kv(json_t *j, struct etcd_kv *ret)
{
    _cleanup_free_ uint8_t *key = NULL;
    size_t len = 0;
    int r = json_is_object(j) ? read_bytes(json_object_get(j, "key"), &key, &len) : -EBADMSG;

    if (r < 0)
        return r;
    if (len >= sizeof(ret->key) || memchr(key, '\0', len))
        return -EBADMSG;
    memcpy(ret->key, key, len);
    ret->key[len] = '\0';
    return read_bytes(json_object_get(j, "value"), &ret->value, &ret->len);
}

static int read_kvs(json_t *list, struct etcd_kvs *ret)
{
    size_t n = json_array_size(list);
    int r = 0;

    if (!list)
        return 0;
    if (!json_is_array(list) || n > ETCD_KVS_MAX)
        return -EBADMSG;
    ret->v = calloc(n + 1, sizeof(*ret->v));
    if (!ret->v)
        return -ENOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = read_kv(json_array_get(list, i), &ret->v[i]);
        ret->n += r == 0;
    }
    return r;
}

int etcd_read_answer(const char *text, size_t n, struct etcd_answer *ret, struct err *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why), *head;
    const char *revision;
    int r;

    *ret = (struct etcd_answer){ 0 };
    if (!json_is_object(root)) {
        json_decref(root);
        return err_set(err, -EBADMSG, "the answer of etcd is no JSON object");
    }
    head = json_object_get(root, "header");
    revision = json_string_value(json_object_get(head, "revision"));
    ret->revision = revision ? strtoll(revision, NULL, 10) : 0;
    ret->succeeded = json_is_true(json_object_get(root, "succeeded"));
    r = read_kvs(json_object_get(root, "kvs"), &ret->kvs);
    json_decref(root);
    if (r == -EBADMSG)
        (void)err_set(err, r, "the answer of etcd has keys or values that are none");
    if (r < 0)
        etcd_answer_done(ret);
    return r;
}

char *etcd_login_text(const char *user, const char *password)
{
    json_t *root = json_pack("{s:s, s:s}", "name", user, "password", password);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;

    json_decref(root);
    return text;
}

int etcd_read_token(const char *text, size_t n, char *out, size_t size)
{
    json_error_t why;
    json_t *root = json_loadb(text, n, 0, &why);
    const char *token = json_string_value(json_object_get(root, "token"));
    int r = token && *token && strlen(token) < size ? 0 : -EBADMSG;

    for (const char *p = token; r == 0 && *p; p++)
        if (*p <= ' ' || *p > '~')
            r = -EBADMSG;
    if (r == 0)
        memcpy(out, token, strlen(token) + 1);
    json_decref(root);
    return r;
}

void etcd_read_error(const char *text, size_t n, char *out, size_t size)
{
    json_error_t why;
    json_t *root = json_loadb(text, n, 0, &why);
    const char *said = json_string_value(json_object_get(root, "message"));

    if (!said)
        said = json_string_value(json_object_get(root, "error"));
    (void)snprintf(out, size, "%.200s", said && *said ? said : "no reason is given");
    for (char *p = out; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    json_decref(root);
}
