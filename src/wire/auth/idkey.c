/* idkey.c - see idkey.h
 *
 * Owns struct idkey.  Files are written under another name first and linked or renamed, so that a
 * reader sees all of one or nothing.  What is signed begins with the label and a NUL. */
#include "wire/auth/idkey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "wire/auth/crypto.h"
#include "wire/auth/keymode.h"

#define SEED_SIZE 32u
#define FILE_MAX 256u
#define SECRET_WORD "ed25519-seed:"
#define PUBLIC_WORD "ed25519:"

struct idkey {
    uint8_t public_key[IDKEY_SIZE];
    uint8_t secret[CRYPTO_SECRET_SIZE];
};

_Static_assert(IDKEY_SIZE == CRYPTO_PUBLIC_SIZE, "the public half is Ed25519's");
_Static_assert(IDKEY_SIGNATURE_SIZE == CRYPTO_SIGNATURE_SIZE, "so is the signature");

DEFINE_CLEANUP(struct idkey *, idkey_free)

struct idkey *idkey_free(struct idkey *key)
{
    int saved = errno;

    if (key)
        explicit_bzero(key, sizeof(*key));
    free(key);
    errno = saved;
    return NULL;
}

const uint8_t *idkey_public(const struct idkey *key)
{
    return key->public_key;
}

/* ---- text ------------------------------------------------------------------------------------ */

void idkey_text(const uint8_t public_key[IDKEY_SIZE], char text[IDKEY_TEXT])
{
    for (size_t i = 0; i < IDKEY_SIZE; i++) {
        text[2 * i] = "0123456789abcdef"[public_key[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[public_key[i] & 15];
    }
    text[2 * (size_t)IDKEY_SIZE] = '\0';
}

static int digit_of(char c)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)((at - digits) % 16) : -1;
}

int idkey_parse(const char *text, uint8_t ret_key[IDKEY_SIZE])
{
    uint8_t key[IDKEY_SIZE];

    if (strlen(text) != 2 * (size_t)IDKEY_SIZE)
        return -EINVAL;
    for (size_t i = 0; i < IDKEY_SIZE; i++) {
        int hi = digit_of(text[2 * i]), lo = digit_of(text[2 * i + 1]);

        if (hi < 0 || lo < 0)
            return -EINVAL;
        key[i] = (uint8_t)(hi << 4 | lo);
    }
    memcpy(ret_key, key, sizeof(key));
    explicit_bzero(key, sizeof(key)); /* a seed comes through here too */
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* One line `WORD HEX` of a file; secret: which nobody else may read. */
static int read_line(const char *path, const char *word, bool secret, uint8_t ret[IDKEY_SIZE],
                     struct err *err)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char text[FILE_MAX + 1];
    struct stat st;
    ssize_t n;
    int r = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "%s: not a regular file", path);
    if (secret && !keymode_is_private(&st, geteuid(), getegid()))
        return err_set(err, -EPERM, "%s: mode is %03o, must be 600 (no access for group or others)",
                       path, st.st_mode & 0777u);
    n = read(fd, text, FILE_MAX);
    if (n < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, word, strlen(word)) != 0 || idkey_parse(text + strlen(word), ret) < 0)
        r = err_set(err, -EINVAL, "%s: expected %s and %u hexadecimal digits", path, word,
                    2 * IDKEY_SIZE);
    explicit_bzero(text, sizeof(text));
    return r;
}

/* The file under a name of our own, which the caller frees. */
static int write_line(const char *path, const char *word, const uint8_t key[IDKEY_SIZE],
                      mode_t mode, uid_t owner, char **ret_tmp)
{
    char hex[IDKEY_TEXT], line[FILE_MAX];
    _cleanup_free_ char *tmp = NULL;
    _cleanup_close_ int fd = -1;
    int n, r = 0;

    if (asprintf(&tmp, "%s.new.%d", path, (int)getpid()) < 0)
        return -ENOMEM;
    (void)unlink(tmp); /* of an earlier process with our number */
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return -errno;
    idkey_text(key, hex);
    n = snprintf(line, sizeof(line), "%s%s\n", word, hex);
    if (write(fd, line, (size_t)n) != n)
        r = -EIO;
    else if (fchmod(fd, mode) < 0 || (geteuid() == 0 && fchown(fd, owner, (gid_t)-1) < 0) ||
             fsync(fd) < 0)
        r = -errno;
    explicit_bzero(hex, sizeof(hex));
    explicit_bzero(line, sizeof(line));
    if (r < 0)
        (void)unlink(tmp); /* nothing depends on it */
    else
        *ret_tmp = TAKE_PTR(tmp);
    return r;
}

static int make_seed(const char *path, uid_t owner, struct err *err)
{
    _cleanup_free_ char *tmp = NULL;
    uint8_t seed[SEED_SIZE];
    int r = auth_random(seed, sizeof(seed));

    if (r == 0)
        r = write_line(path, SECRET_WORD, seed, 0600, owner, &tmp);
    explicit_bzero(seed, sizeof(seed));
    if (r == 0 && link(tmp, path) < 0 && errno != EEXIST) /* exists: another made it meanwhile */
        r = -errno;
    if (tmp)
        (void)unlink(tmp); /* our own; nothing depends on it */
    return r < 0 ? err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

int idkey_open(const char *path, uid_t owner, struct idkey **ret_key, struct err *err)
{
    _cleanup_(idkey_free) struct idkey *key = calloc(1, sizeof(*key));
    uint8_t seed[SEED_SIZE];
    int r = key ? 0 : err_nomem_of(err, path);

    if (r == 0 && access(path, F_OK) < 0 && errno == ENOENT)
        r = make_seed(path, owner, err);
    if (r == 0)
        r = read_line(path, SECRET_WORD, true, seed, err);
    if (r < 0)
        return r;
    r = crypto_pair(seed, key->public_key, key->secret);
    explicit_bzero(seed, sizeof(seed));
    if (r < 0)
        return err_set(err, r, "keys of nodes need libsodium.so.23, which is not installed");
    *ret_key = TAKE_PTR(key);
    return 0;
}

int idkey_read_public(const char *path, uint8_t ret_key[IDKEY_SIZE], struct err *err)
{
    return read_line(path, PUBLIC_WORD, false, ret_key, err);
}

int idkey_write_public(const char *path, const uint8_t key[IDKEY_SIZE], struct err *err)
{
    _cleanup_free_ char *tmp = NULL;
    int r = write_line(path, PUBLIC_WORD, key, 0644, geteuid(), &tmp);

    if (r == 0 && rename(tmp, path) < 0) {
        r = -errno;
        (void)unlink(tmp); /* our own; nothing depends on it */
    }
    return r < 0 ? err_set(err, r, "%s: %s", path, strerror(-r)) : 0;
}

/* ---- signatures and secrets ------------------------------------------------------------------ */

/* label, NUL, data, MAC; the caller frees it. */
static uint8_t *join_labelled(const char *label, const void *data, size_t len,
                              const uint8_t mac[AUTH_MAC_SIZE], size_t *ret_len)
{
    size_t n = strlen(label) + 1;
    uint8_t *buf = malloc(n + len + AUTH_MAC_SIZE);

    if (!buf)
        return NULL;
    memcpy(buf, label, n);
    if (len)
        memcpy(buf + n, data, len);
    memcpy(buf + n + len, mac, AUTH_MAC_SIZE);
    *ret_len = n + len + AUTH_MAC_SIZE;
    return buf;
}

int idkey_sign(const struct idkey *key, const char *label, const void *data, size_t len,
               const uint8_t mac[AUTH_MAC_SIZE], uint8_t signature[IDKEY_SIGNATURE_SIZE])
{
    size_t n = 0;
    _cleanup_free_ uint8_t *buf = join_labelled(label, data, len, mac, &n);

    return buf ? crypto_sign(key->secret, buf, n, signature) : -ENOMEM;
}

int idkey_verify(const uint8_t public_key[IDKEY_SIZE], const char *label, const void *data,
                 size_t len, const uint8_t mac[AUTH_MAC_SIZE],
                 const uint8_t signature[IDKEY_SIGNATURE_SIZE])
{
    size_t n = 0;
    _cleanup_free_ uint8_t *buf = join_labelled(label, data, len, mac, &n);

    return buf ? crypto_verify(public_key, buf, n, signature) : -ENOMEM;
}

int idkey_secret(const struct idkey *key, const uint8_t public_key[IDKEY_SIZE], const char *label,
                 uint8_t secret[32])
{
    uint8_t shared[32];
    int r = crypto_agree(key->secret, public_key, shared);

    if (r == 0)
        crypto_hmac(shared, sizeof(shared), label, strlen(label) + 1, secret);
    explicit_bzero(shared, sizeof(shared));
    return r;
}

void idkey_mix(uint8_t secret[32], const uint8_t other[32])
{
    uint8_t mixed[32];

    crypto_hmac(secret, 32, other, 32, mixed);
    memcpy(secret, mixed, sizeof(mixed));
    explicit_bzero(mixed, sizeof(mixed));
}
