/* test_auth_munge.c - credentials of munge that are none, too large, for somebody else, or asked of
 * nobody */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "munged.h"
#include "wire/auth/auth.h"

static void expect_no_credential(const char *socket, const char *cred)
{
    struct err err = { .text = "" };
    uid_t uid = 77;
    gid_t gid = 77;
    void *payload = &uid;
    size_t len = 77;

    assert_true(auth_munge_decode(socket, cred, &uid, &gid, &payload, &len, &err) < 0);
    assert_memory_equal(err.text, "munge: ", 7);
    assert_true(uid == 77 && gid == 77 && payload == &uid && len == 77); /* as they were */
}

/* Without a munged every answer is a refusal: nobody is believed by mistake. */
static void test_nobody(void **state)
{
    static const char payload[(1 << 20) + 1];
    struct err err = { .text = "" };
    char *cred = NULL;

    (void)state;
    assert_true(auth_munge_encode("/nowhere/socket", 0, "x", 1, &cred, &err) < 0);
    assert_memory_equal(err.text, "munge: ", 7);
    assert_null(cred);
    assert_int_equal(auth_munge_encode("/nowhere/socket", 0, payload, sizeof(payload), &cred, &err),
                     -EINVAL);
    assert_string_equal(err.text, "munge: payload too large");
    expect_no_credential("/nowhere/socket", "");
    expect_no_credential("/nowhere/socket", "MUNGE:AwQDAAA:");
}

static void test_strange(void **state)
{
    static const char *const texts[] = { "",
                                         "MUNGE:",
                                         "MUNGE::",
                                         "MUNGE:AwQDAAA:",
                                         "MUNGE:////:",
                                         "MUNGE:=:",
                                         "x",
                                         "MUNGE:AAAAAAAAAAAAAAAAAAAAAAAAAAAA:" };
    struct err err = { .text = "" };
    struct munged m;
    char *cred = NULL;

    (void)state;
    if (!munged_start(&m)) {
        print_message(
            "# skip: munged or libmunge is not installed, or does not run as this user\n");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        expect_no_credential(m.socket, texts[i]);
    assert_int_equal(auth_munge_encode(m.socket, 300, "nonce", 5, &cred, &err), 0);
    cred[strlen(cred) / 2] ^= 1; /* a letter changed */
    expect_no_credential(m.socket, cred);
    free(cred);
    munged_stop(&m);
}

/* Of no bytes, of a lifetime beyond what munged gives, and for another user's eyes. */
static void test_ends(void **state)
{
    struct err err = { .text = "" };
    struct munged m;
    char *cred = NULL;
    void *payload = NULL;
    uid_t uid = 77;
    gid_t gid = 77;
    size_t len = 77;

    (void)state;
    if (!munged_start(&m)) {
        print_message(
            "# skip: munged or libmunge is not installed, or does not run as this user\n");
        return;
    }
    assert_int_equal(auth_munge_encode(m.socket, UINT32_MAX, "", 0, &cred, &err), 0);
    assert_int_equal(auth_munge_decode(m.socket, cred, &uid, &gid, &payload, &len, &err), 0);
    assert_int_equal(uid, geteuid());
    assert_int_equal(gid, getegid());
    assert_int_equal(len, 0);
    free(payload);
    free(cred);
    assert_int_equal(auth_munge_encode_for(m.socket, 0, geteuid() + 1, "x", 1, &cred, &err), 0);
    expect_no_credential(m.socket, cred);
    free(cred);
    munged_stop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_strange),
        cmocka_unit_test(test_ends),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
