/* test_auth.c - key files, signatures, munge */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/auth/auth.h"
#include "wire/auth/keymode.h"

#include "munged.h"

#define KEY_A "a1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"
#define KEY_B "b2:ff0102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F\n"

static char dir[64];
static char path[96];

static int setup(void **state)
{
    (void)snprintf(dir, sizeof(dir), "/tmp/test_auth.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/key", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)unlink(path);
    return rmdir(dir);
}

static void write_file(const char *text, mode_t mode)
{
    int fd;

    (void)unlink(path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static struct auth_keys *load(const char *text)
{
    struct auth_keys *keys = NULL;
    struct err err = { .text = "" };

    write_file(text, 0600);
    if (auth_keys_load(path, &keys, &err) != 0)
        fail_msg("%s", err.text);
    return keys;
}

static void test_load_refusals(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        int rc;
        const char *says;
    } cases[] = {
        { KEY_A, 0600, 0, "" },
        { "# comment\n\n" KEY_A KEY_B, 0600, 0, "" },
        { KEY_A, 0400, 0, "" },
        { KEY_A, 0640, -EPERM, "600" },
        { KEY_A, 0604, -EPERM, "600" },
        { "", 0600, -EINVAL, "no key" },
        { "\n#\n", 0600, -EINVAL, "no key" },
        { "nokey\n", 0600, -EINVAL, "line 1" },
        { KEY_A "x:00\n", 0600, -EINVAL, "line 2" },
        { KEY_A KEY_A, 0600, -EINVAL, "twice" },
        { "bad name:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0600,
          -EINVAL, "line 1" },
        { "a:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eXX", 0600, -EINVAL,
          "hexadecimal" },
        { ":000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 0600, -EINVAL,
          "line 1" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct auth_keys *keys = NULL;
        struct err err = { .text = "" };

        write_file(cases[i].text, cases[i].mode);
        assert_int_equal(auth_keys_load(path, &keys, &err), cases[i].rc);
        assert_int_equal(keys != NULL, cases[i].rc == 0);
        assert_non_null(strstr(err.text, cases[i].says));
        keys = auth_keys_free(keys);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(auth_keys_load(path, &(struct auth_keys *){ NULL }, NULL), -ENOENT);
    assert_int_equal(auth_keys_load(dir, &(struct auth_keys *){ NULL }, NULL), -EINVAL);
}

/* A Secret's file in a pod is root's, and the user's by the group alone. */
static void test_modes_of_files(void **state)
{
    static const struct {
        mode_t mode;
        uid_t owner;
        gid_t group;
        bool ours; /* for user 401 of group 401 */
    } cases[] = {
        { 0600, 401, 401, true }, { 0640, 401, 401, false }, { 0604, 401, 401, false },
        { 0600, 0, 0, true },     { 0650, 0, 401, true },    { 0440, 0, 401, true },
        { 0640, 0, 0, false },    { 0640, 7, 401, false },   { 0660, 0, 401, false },
        { 0644, 0, 401, false },  { 0641, 0, 401, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct stat st = { .st_mode = S_IFREG | cases[i].mode,
                           .st_uid = cases[i].owner,
                           .st_gid = cases[i].group };

        assert_int_equal(keymode_is_private(&st, 401, 401), cases[i].ours);
        assert_int_equal(keymode_is_private(&st, 0, 0), (cases[i].mode & 077) == 0);
    }
}

static void test_too_many_keys(void **state)
{
    char text[AUTH_KEY_MAX * 80 + 200] = "";
    struct auth_keys *keys = NULL;
    size_t len = 0;

    for (unsigned i = 0; i <= AUTH_KEY_MAX; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "k%u:%064u\n", i, i);
        write_file(text, 0600);
        assert_int_equal(auth_keys_load(path, &keys, NULL), i < AUTH_KEY_MAX ? 0 : -EINVAL);
        if (i < AUTH_KEY_MAX)
            keys = auth_keys_free(keys);
    }
}

static void test_create(void **state)
{
    struct auth_keys *keys = NULL;
    char first[128], second[128];
    struct err err = { .text = "" };
    struct stat st;
    FILE *f;

    (void)unlink(path);
    assert_int_equal(auth_keys_create(path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    f = fopen(path, "r");
    assert_non_null(fgets(first, sizeof(first), f));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(auth_keys_create(path, &err), 0); /* stays as it is */
    f = fopen(path, "r");
    assert_non_null(fgets(second, sizeof(second), f));
    assert_int_equal(fclose(f), 0);
    assert_string_equal(first, second);
    assert_int_equal(auth_keys_load(path, &keys, &err), 0);
    keys = auth_keys_free(keys);
    assert_int_equal(auth_keys_create("/proc/nonexistent/dir/key", &err), -ENOENT);
    assert_non_null(strstr(err.text, "/proc/nonexistent/dir/key"));
}

/* Vector made with an independent implementation. */
static void test_sign_known(void **state)
{
    static const uint8_t want[AUTH_MAC_SIZE] = {
        0x2a, 0x16, 0xa0, 0xa8, 0x6d, 0x90, 0x50, 0xc2, 0xeb, 0x59, 0xc6,
        0x49, 0x08, 0xab, 0x4a, 0xa1, 0xb1, 0xd3, 0xc5, 0x99, 0x23, 0x48,
        0x16, 0x7d, 0x22, 0xfa, 0x1e, 0x03, 0x63, 0xcf, 0x0a, 0xa0,
    };
    struct auth_keys *keys = load(KEY_A);
    uint8_t mac[AUTH_MAC_SIZE];
    const char *kid;

    assert_int_equal(auth_sign(keys, "penstock", 8, mac, &kid), 0);
    assert_string_equal(kid, "a1");
    assert_memory_equal(mac, want, sizeof(want));
    keys = auth_keys_free(keys);
}

static void test_rotation(void **state)
{
    struct auth_keys *old = load(KEY_A), *both = load(KEY_B KEY_A), *new = load(KEY_B);
    uint8_t mac[AUTH_MAC_SIZE];
    const char *kid;

    assert_int_equal(auth_sign(old, "data", 4, mac, &kid), 0);
    assert_int_equal(auth_verify(both, kid, "data", 4, mac), 0);
    assert_int_equal(auth_verify(new, kid, "data", 4, mac), -ENOKEY);
    assert_int_equal(auth_sign(both, "data", 4, mac, &kid), 0);
    assert_string_equal(kid, "b2");
    assert_int_equal(auth_verify(new, kid, "data", 4, mac), 0);
    assert_int_equal(auth_verify(old, kid, "data", 4, mac), -ENOKEY);
    old = auth_keys_free(old);
    both = auth_keys_free(both);
    new = auth_keys_free(new);
}

static void test_tamper(void **state)
{
    struct auth_keys *keys = load(KEY_A);
    uint8_t mac[AUTH_MAC_SIZE];
    char data[] = "data";
    const char *kid;

    assert_int_equal(auth_sign(keys, data, 4, mac, &kid), 0);
    for (size_t i = 0; i < sizeof(mac) * 8; i++) {
        mac[i / 8] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(auth_verify(keys, kid, data, 4, mac), -EACCES);
        mac[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    data[3] ^= 1;
    assert_int_equal(auth_verify(keys, kid, data, 4, mac), -EACCES);
    assert_int_equal(auth_verify(keys, NULL, data, 4, mac), -ENOKEY);
    keys = auth_keys_free(keys);
}

/* Secrets differ by key, purpose and thing. */
static void test_derive(void **state)
{
    struct auth_keys *both = load(KEY_A KEY_B), *keys = load(KEY_A);
    uint8_t one[AUTH_MAC_SIZE], other[AUTH_MAC_SIZE];
    const char *kid, *second = strchr(KEY_B, ':');
    char name[64];

    (void)snprintf(name, sizeof(name), "%.*s", (int)(second - KEY_B), KEY_B);
    assert_int_equal(auth_derive(keys, NULL, AUTH_FOR_HELLO, NULL, 0, one, &kid), 0);
    assert_int_equal(auth_derive(both, kid, AUTH_FOR_HELLO, NULL, 0, other, NULL), 0);
    assert_memory_equal(one, other, sizeof(one));
    assert_int_equal(auth_derive(both, name, AUTH_FOR_HELLO, NULL, 0, other, NULL), 0);
    assert_memory_not_equal(one, other, sizeof(one));
    assert_int_equal(auth_derive(keys, NULL, AUTH_FOR_LAUNCH, NULL, 0, other, NULL), 0);
    assert_memory_not_equal(one, other, sizeof(one));
    assert_int_equal(auth_derive(keys, NULL, AUTH_FOR_HELLO, "x", 1, other, NULL), 0);
    assert_memory_not_equal(one, other, sizeof(one));
    assert_int_equal(auth_derive(keys, "zz", AUTH_FOR_HELLO, NULL, 0, other, NULL), -ENOKEY);
    keys = auth_keys_free(keys);
    both = auth_keys_free(both);
}

static void test_random(void **state)
{
    uint8_t a[32], b[32];

    assert_int_equal(auth_random(a, sizeof(a)), 0);
    assert_int_equal(auth_random(b, sizeof(b)), 0);
    assert_memory_not_equal(a, b, sizeof(a));
}

/* ---- munge, with a munged of our own --------------------------------------------------------- */

static void test_munge(void **state)
{
    _cleanup_free_ char *cred = NULL;
    _cleanup_free_ void *payload = NULL;
    struct munged m;
    struct err err = { .text = "" };
    uid_t uid;
    gid_t gid;
    size_t len;

    if (!munged_start(&m)) {
        print_message(
            "# skip: munged or libmunge is not installed, or does not run as this user\n");
        skip();
    }
    assert_int_equal(auth_munge_encode(m.socket, 0, "nonce", 5, &cred, &err), 0);
    assert_int_equal(auth_munge_decode(m.socket, cred, &uid, &gid, &payload, &len, &err), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(gid, getegid());
    assert_int_equal(len, 5);
    assert_memory_equal(payload, "nonce", 5);
    free(TAKE_PTR(payload));
    /* munged takes each credential once */
    assert_int_equal(auth_munge_decode(m.socket, cred, &uid, &gid, &payload, &len, &err), -EACCES);
    assert_non_null(strstr(err.text, "munge:"));
    assert_int_equal(auth_munge_decode(m.socket, "MUNGE:junk:", &uid, &gid, &payload, &len, &err),
                     -EACCES);
    munged_stop(&m);
}

/* AuthInfo=ttl: what unmunge says of a credential's life. */
static void test_munge_ttl(void **state)
{
    struct munged m;
    struct err err = { .text = "" };

    if (!munged_start(&m)) {
        print_message(
            "# skip: munged or libmunge is not installed, or does not run as this user\n");
        skip();
    }
    for (uint32_t ttl = 0; ttl <= 77; ttl += 77) {
        _cleanup_free_ char *cred = NULL, *command = NULL;
        char line[256], said[64] = "";
        FILE *f;

        assert_int_equal(auth_munge_encode(m.socket, ttl, "nonce", 5, &cred, &err), 0);
        assert_true(asprintf(&command, "echo '%s' | unmunge -S %s", cred, m.socket) > 0);
        f = popen(command, "re");
        assert_non_null(f);
        while (fgets(line, sizeof(line), f))
            (void)sscanf(line, "TTL: %63s", said);
        assert_int_equal(pclose(f), 0);
        assert_string_equal(said, ttl ? "77" : "300"); /* munged's own */
    }
    munged_stop(&m);
}

static void test_munge_missing_daemon(void **state)
{
    struct err err = { .text = "" };
    char *cred = NULL;
    int r = auth_munge_encode("/proc/nonexistent/socket", 0, "x", 1, &cred, &err);

    assert_true(r == -EACCES || r == -ENOSYS);
    assert_non_null(strstr(err.text, "munge"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_refusals), cmocka_unit_test(test_modes_of_files),
        cmocka_unit_test(test_too_many_keys), cmocka_unit_test(test_create),
        cmocka_unit_test(test_sign_known),    cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_tamper),        cmocka_unit_test(test_derive),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_munge),
        cmocka_unit_test(test_munge_ttl),     cmocka_unit_test(test_munge_missing_daemon),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
