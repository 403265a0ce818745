/* keyset.c - see keyset.h */
#include "wire/auth/keyset.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/auth/crypto.h"

#define BYTES_MIN 16u   /* of a key */
#define PHRASE_MIN 200u /* a line `name:hex` is shorter */
#define K_MAX 4096u     /* characters of a key in base64 */
#define LENGTH_LABEL "PSTK cluster key 1"
#define NAME_LABEL "PSTK key name 1"

static bool is_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isprint((unsigned char)text[i]) && !isspace((unsigned char)text[i]))
            return false;
    return true;
}

static bool is_object(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && isspace((unsigned char)text[i]))
        i++;
    return i < len && text[i] == '{';
}

/* Is there a line that says something, and none that could be `name:hex`? */
static bool has_no_names(const char *text, size_t len)
{
    bool said = false;

    for (size_t i = 0; i < len; i++) {
        bool first = i == 0 || text[i - 1] == '\n';

        if (text[i] == ':')
            return false;
        said = said || (first && text[i] != '#' && !isspace((unsigned char)text[i]));
    }
    return said;
}

/* Text that is all one key, as charts and passwords make them: one line that is longer than any
 * `name:hex`, or lines without a name. */
static bool is_phrase(const char *text, size_t len)
{
    if (is_object(text, len) && memmem(text, len, "\"keys\"", 6))
        return false;
    if (len > PHRASE_MIN && !memchr(text, '\n', len))
        return true;
    return len >= BYTES_MIN && !is_object(text, len) && has_no_names(text, len);
}

bool keyset_is(const char *text, size_t len)
{
    return !is_text(text, len) || is_phrase(text, len) || is_object(text, len);
}

/* ---- secrets --------------------------------------------------------------------------------- */

static void set_secret(struct auth_key *key, const uint8_t *bytes, size_t n)
{
    if (n != AUTH_KEY_SIZE)
        crypto_hmac(bytes, n, LENGTH_LABEL, strlen(LENGTH_LABEL), key->secret);
    else
        memcpy(key->secret, bytes, n);
}

/* All bytes of the file.  Its name comes from it, so that another key has another name. */
static int take_bytes(const char *text, size_t len, struct auth_keys *keys, struct err *err)
{
    struct auth_key *key = &keys->keys[0];
    uint8_t name[CRYPTO_SHA256_SIZE];

    if (len < BYTES_MIN)
        return err_set(err, -EINVAL, "a key of %zu bytes, %u are the least", len, BYTES_MIN);
    set_secret(key, (const uint8_t *)text, len);
    crypto_hmac(key->secret, AUTH_KEY_SIZE, NAME_LABEL, strlen(NAME_LABEL), name);
    (void)snprintf(key->kid, sizeof(key->kid), "s%02x%02x%02x%02x", name[0], name[1], name[2],
                   name[3]);
    keys->n = 1;
    return 0;
}

/* ---- the set --------------------------------------------------------------------------------- */

static int value_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : strchr("+-", c) ? 62 : strchr("/_", c) ? 63 : -1;
}

/* base64 and base64url, with padding or without.  Bytes, or -EINVAL. */
static ssize_t read_base64(const char *s, size_t len, uint8_t *out)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0;

    while (len && s[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        int v = s[i] ? value_of(s[i]) : -1;

        if (v < 0)
            return -EINVAL;
        bits = (bits << 6 | (uint32_t)v) & 0xffffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (uint8_t)(bits >> have);
        }
    }
    return len % 4 == 1 ? -EINVAL : (ssize_t)n;
}

static const char *text_of(const json_t *j, const char *name)
{
    const char *s = json_string_value(json_object_get(j, name));

    return s ? s : "";
}

static bool is_name(const json_t *kid)
{
    const char *s = json_string_value(kid);
    size_t len = s ? json_string_length(kid) : 0;

    if (len == 0 || len > AUTH_KID_MAX || strlen(s) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i]))
            return false;
    return true;
}

static int read_secret(const json_t *k, struct auth_key *key, struct err *err)
{
    uint8_t bytes[K_MAX];
    size_t len = json_string_length(k);
    ssize_t n =
        json_is_string(k) && len <= K_MAX ? read_base64(json_string_value(k), len, bytes) : -EINVAL;
    int r = 0;

    if (n < (ssize_t)BYTES_MIN)
        r = err_set(err, -EINVAL,
                    "k has to be %u bytes or more in base64, of at most %u characters", BYTES_MIN,
                    K_MAX);
    else
        set_secret(key, bytes, (size_t)n);
    explicit_bzero(bytes, sizeof(bytes));
    return r;
}

static int read_expiry(const json_t *exp, struct auth_key *key, struct err *err)
{
    json_int_t s = exp ? json_integer_value(exp) : 0;

    if (exp && (!json_is_integer(exp) || s <= 0 || s > INT64_MAX / USEC_PER_SEC))
        return err_set(err, -EINVAL, "exp has to be seconds since 1970");
    key->exp_us = (int64_t)s * USEC_PER_SEC;
    return 0;
}

static int read_key(const json_t *j, const struct auth_keys *keys, struct auth_key *key,
                    struct err *err)
{
    const json_t *kid = json_object_get(j, "kid"), *use = json_object_get(j, "use");
    int r;

    if (strcmp(text_of(j, "kty"), "oct") != 0 || strcmp(text_of(j, "alg"), "HS256") != 0)
        return err_set(err, -EINVAL, "kty has to be \"oct\" and alg \"HS256\"");
    if (!is_name(kid))
        return err_set(err, -EINVAL,
                       "kid has to be a name of 1 to %u letters, digits and signs of ._-",
                       AUTH_KID_MAX);
    (void)snprintf(key->kid, sizeof(key->kid), "%s", json_string_value(kid));
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].kid, key->kid) == 0)
            return err_set(err, -EINVAL, "kid \"%s\" is there twice", key->kid);
    if (use && strcmp(text_of(j, "use"), "default") != 0)
        return err_set(err, -EINVAL, "use has to be \"default\", or absent");
    r = read_expiry(json_object_get(j, "exp"), key, err);
    return r < 0 ? r : read_secret(json_object_get(j, "k"), key, err);
}

/* The key that signs comes first. */
static void swap_first(struct auth_keys *keys, size_t i)
{
    struct auth_key first = keys->keys[0];

    keys->keys[0] = keys->keys[i];
    keys->keys[i] = first;
    explicit_bzero(&first, sizeof(first));
}

static int read_keys(const json_t *list, struct auth_keys *keys, struct err *err)
{
    struct err why = { .text = "" };
    size_t i, chosen = SIZE_MAX;
    const json_t *j;

    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > AUTH_KEY_MAX)
        return err_set(err, -EINVAL, "\"keys\" has to be a list of 1 to %u keys", AUTH_KEY_MAX);
    json_array_foreach(list, i, j)
    {
        int r = read_key(j, keys, &keys->keys[keys->n], &why);

        if (r < 0)
            return err_set(err, r, "key %zu: %s", i + 1, why.text);
        if (json_object_get(j, "use") && chosen != SIZE_MAX)
            return err_set(err, -EINVAL, "key %zu: use=\"default\" is there twice", i + 1);
        if (json_object_get(j, "use"))
            chosen = i;
        keys->n++;
    }
    if (chosen != SIZE_MAX)
        swap_first(keys, chosen);
    return 0;
}

static bool has_living(const struct auth_keys *keys, int64_t now_us)
{
    for (size_t i = 0; i < keys->n; i++)
        if (auth_key_lives(&keys->keys[i], now_us))
            return true;
    return false;
}

int keyset_parse(const char *text, size_t len, int64_t now_us, struct auth_keys *keys,
                 struct err *err)
{
    json_error_t bad;
    json_t *set;
    int r;

    keys->n = 0;
    if (!is_text(text, len) || is_phrase(text, len))
        return take_bytes(text, len, keys, err);
    set = json_loadb(text, len, JSON_REJECT_DUPLICATES, &bad);
    if (!set)
        return err_set(err, -EINVAL, "line %d: %.100s", bad.line, bad.text);
    r = read_keys(json_object_get(set, "keys"), keys, err);
    json_decref(set);
    if (r == 0 && !has_living(keys, now_us))
        r = err_set(err, -EKEYEXPIRED, "every key of it has expired (exp)");
    return r;
}
