/* auth.c - the key file, signatures with it, and the proof inside a Hello
 *
 * Owns struct auth_keys: read once, constant afterwards (so any thread may use it), wiped when
 * freed. What is signed for a Hello starts with a prefix of its own, so that no signature made for
 * another purpose (tokens start with a letter of base64, step credentials with a protobuf tag) can
 * stand in for one. */
#include "wire/auth/auth.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "wire/auth/auth_impl.h"
#include "wire/auth/crypto.h"
#include "wire/auth/keymode.h"
#include "wire/auth/keyset.h"

#define KEY_FILE_MAX 16384u

_Static_assert(AUTH_MAC_SIZE == CRYPTO_SHA256_SIZE, "the MAC is HMAC-SHA256");

DEFINE_CLEANUP(struct auth_keys *, auth_keys_free)

struct auth_keys *auth_keys_free(struct auth_keys *keys)
{
    int saved = errno;

    if (keys && atomic_fetch_sub(&keys->refs, 1) == 0) {
        explicit_bzero(keys, sizeof(*keys));
        free(keys);
    }
    errno = saved;
    return NULL;
}

struct auth_keys *auth_keys_ref(struct auth_keys *keys)
{
    atomic_fetch_add(&keys->refs, 1);
    return keys;
}

/* Read the whole file into buf (NUL-terminated); it must be private to its owner. */
static int read_key_file(const char *path, char *buf, size_t size, size_t *ret_len, struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    size_t len = 0;

    if (fd < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%s: not a regular file", path);
    if (!keymode_is_private(&st, geteuid(), getegid()))
        return err_set(err, -EPERM, "%s: mode is %03o, must be 600 (no access for group or others)",
                       path, st.st_mode & 0777u);
    while (len < size - 1) {
        ssize_t n = read(fd, buf + len, size - 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (len == size - 1)
        return err_set(err, -EINVAL, "%s: larger than %zu bytes", path, size - 2);
    buf[len] = '\0';
    *ret_len = len;
    return 0;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool parse_secret(const char *hex, size_t len, uint8_t *secret)
{
    if (len != 2 * (size_t)AUTH_KEY_SIZE)
        return false;
    for (size_t i = 0; i < AUTH_KEY_SIZE; i++) {
        int hi = hex_value(hex[2 * i]), lo = hex_value(hex[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return false;
        secret[i] = (uint8_t)(hi << 4 | lo);
    }
    return true;
}

static bool kid_ok(const char *kid, size_t len)
{
    if (len == 0 || len > AUTH_KID_MAX)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)kid[i]) && !strchr("._-", kid[i]))
            return false;
    return true;
}

/* One line without its end; blank lines and comments are skipped. */
static int parse_line(struct auth_keys *keys, const char *line, size_t len, struct err *err)
{
    const char *colon;
    struct auth_key *key;
    size_t kid_len;

    while (len && isspace((unsigned char)line[len - 1]))
        len--;
    if (len == 0 || line[0] == '#')
        return 0;
    colon = memchr(line, ':', len);
    kid_len = colon ? (size_t)(colon - line) : 0;
    if (!colon || !kid_ok(line, kid_len))
        return err_set(err, -EINVAL, "expected name:key, a name of 1 to %u letters and digits",
                       AUTH_KID_MAX);
    if (keys->n == AUTH_KEY_MAX)
        return err_set(err, -EINVAL, "more than %u keys", AUTH_KEY_MAX);
    key = &keys->keys[keys->n];
    memcpy(key->kid, line, kid_len);
    key->kid[kid_len] = '\0';
    if (auth_key_find(keys, key->kid))
        return err_set(err, -EINVAL, "key name '%s' appears twice", key->kid);
    if (!parse_secret(colon + 1, len - kid_len - 1, key->secret))
        return err_set(err, -EINVAL, "key '%s' is not %u hexadecimal digits", key->kid,
                       2 * AUTH_KEY_SIZE);
    keys->n++;
    return 0;
}

static int parse_keys(struct auth_keys *keys, const char *path, const char *text, struct err *err)
{
    unsigned line_no = 0;

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");
        int r = parse_line(keys, p, len, err);

        line_no++;
        if (r < 0) {
            err_prefix(err, "%s line %u", path, line_no);
            return r;
        }
        p += len;
        p += *p == '\n';
    }
    if (keys->n == 0)
        return err_set(err, -EINVAL, "%s: holds no key", path);
    return 0;
}

int auth_keys_load(const char *path, struct auth_keys **ret_keys, struct err *err)
{
    _cleanup_(auth_keys_free) struct auth_keys *keys = calloc(1, sizeof(*keys));
    char text[KEY_FILE_MAX + 2];
    size_t len = 0;
    int r;

    if (!keys)
        return err_nomem_of(err, path);
    r = read_key_file(path, text, sizeof(text), &len, err);
    if (r == 0 && keyset_is(text, len)) {
        r = keyset_parse(text, len, now_us(), keys, err);
        if (r < 0)
            err_prefix(err, "%s", path);
    } else if (r == 0) {
        r = parse_keys(keys, path, text, err);
    }
    explicit_bzero(text, sizeof(text));
    if (r < 0)
        return r;
    *ret_keys = TAKE_PTR(keys);
    return 0;
}

/* Write a new key line to fd. */
static int write_key(int fd)
{
    uint8_t random[4 + AUTH_KEY_SIZE];
    char line[2 * sizeof(random) + 4];
    char *p = line;
    int r = auth_random(random, sizeof(random));
    ssize_t n;

    if (r < 0)
        return r;
    *p++ = 'k';
    for (size_t i = 0; i < sizeof(random); i++) {
        if (i == 4)
            *p++ = ':';
        *p++ = "0123456789abcdef"[random[i] >> 4];
        *p++ = "0123456789abcdef"[random[i] & 15];
    }
    *p++ = '\n';
    n = write(fd, line, (size_t)(p - line));
    explicit_bzero(random, sizeof(random));
    explicit_bzero(line, (size_t)(p - line));
    if (n != p - line)
        return n < 0 ? -errno : -ENOSPC;
    return fsync(fd) < 0 ? -errno : 0;
}

int auth_keys_create(const char *path, struct err *err)
{
    _cleanup_free_ char *tmp = NULL;
    _cleanup_close_ int fd = -1;
    int r;

    if (access(path, F_OK) == 0)
        return 0;
    /* Under another name first: whoever sees the file sees all of it. */
    if (asprintf(&tmp, "%s.new.%d", path, (int)getpid()) < 0)
        return err_nomem_of(err, path);
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", tmp, strerror(errno));
    r = write_key(fd);
    if (r == 0 && link(tmp, path) < 0 && errno != EEXIST) /* exists: another made it meanwhile */
        r = -errno;
    (void)unlink(tmp); /* our own file; nothing depends on it */
    if (r < 0)
        return err_set(err, r, "%s: %s", path, strerror(-r));
    return 0;
}

const struct auth_key *auth_key_find(const struct auth_keys *keys, const char *kid)
{
    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->keys[i].kid, kid) == 0)
            return auth_key_lives(&keys->keys[i], now_us()) ? &keys->keys[i] : NULL;
    return NULL;
}

const struct auth_key *auth_keys_signer(const struct auth_keys *keys, int64_t now_us)
{
    for (size_t i = 0; i < keys->n; i++)
        if (auth_key_lives(&keys->keys[i], now_us))
            return &keys->keys[i];
    return NULL;
}

int auth_sign(const struct auth_keys *keys, const void *data, size_t len,
              uint8_t mac[AUTH_MAC_SIZE], const char **ret_kid)
{
    const struct auth_key *key = auth_keys_signer(keys, now_us());

    if (!key)
        return -ENOKEY;
    crypto_hmac(key->secret, AUTH_KEY_SIZE, data, len, mac);
    if (ret_kid)
        *ret_kid = key->kid;
    return 0;
}

int auth_verify(const struct auth_keys *keys, const char *kid, const void *data, size_t len,
                const uint8_t mac[AUTH_MAC_SIZE])
{
    const struct auth_key *key = kid ? auth_key_find(keys, kid) : NULL;
    uint8_t want[AUTH_MAC_SIZE];

    if (!key)
        return -ENOKEY;
    crypto_hmac(key->secret, AUTH_KEY_SIZE, data, len, want);
    return crypto_equal(want, mac, AUTH_MAC_SIZE) ? 0 : -EACCES;
}

int auth_derive(const struct auth_keys *keys, const char *kid, const char *label, const void *data,
                size_t len, uint8_t secret[AUTH_MAC_SIZE], const char **ret_kid)
{
    const struct auth_key *key = kid ? auth_key_find(keys, kid) : auth_keys_signer(keys, now_us());
    struct crypto_mac *mac = NULL;
    int r = key ? crypto_mac_new(key->secret, &mac) : -ENOKEY;

    if (r < 0)
        return r;
    crypto_mac_begin(mac);
    crypto_mac_add(mac, label, strlen(label) + 1);
    crypto_mac_add(mac, data, len);
    crypto_mac_end(mac, secret);
    (void)crypto_mac_free(mac); /* always NULL */
    if (ret_kid)
        *ret_kid = key->kid;
    return 0;
}

int auth_random(void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}
