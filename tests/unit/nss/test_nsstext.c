/* test_nsstext.c - what libnss_slurm takes from a step daemon, and what it does not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nss/nsstext.h"

static char text_buf[NSSTEXT_MAX + 2];

static bool parse(const char *text, struct nss_user *u)
{
    size_t len = strlen(text);

    memcpy(text_buf, text, len);
    text_buf[len] = 'x'; /* whatever stood there */
    return nsstext_parse(text_buf, len, u);
}

static void test_user(void **state)
{
    struct nss_user u;
    struct nss_group g;
    const char *at;

    (void)state;
    assert_true(parse(
        NSSTEXT_HEAD "ann:1000:100:Ann Lee, room 2:/home/ann:/bin/sh\nusers:100\n7001:7001\n", &u));
    assert_string_equal(u.name, "ann");
    assert_int_equal(u.uid, 1000);
    assert_int_equal(u.gid, 100);
    assert_string_equal(u.gecos, "Ann Lee, room 2");
    assert_string_equal(u.home, "/home/ann");
    assert_string_equal(u.shell, "/bin/sh");
    at = u.groups;
    assert_true(nsstext_group(&u, &at, &g));
    assert_string_equal(g.name, "users");
    assert_int_equal(g.gid, 100);
    assert_true(nsstext_group(&u, &at, &g));
    assert_string_equal(g.name, "7001");
    assert_false(nsstext_group(&u, &at, &g));
    assert_true(parse(NSSTEXT_HEAD "ann:1000:100:::\n", &u));
    at = u.groups;
    assert_false(nsstext_group(&u, &at, &g));
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "penstock-nss 2\nann:1:1:::\n",
        NSSTEXT_HEAD,
        NSSTEXT_HEAD "ann:1:1:::",
        NSSTEXT_HEAD "ann:1:1::\n",
        NSSTEXT_HEAD "ann:1:1::::\n",
        NSSTEXT_HEAD ":1:1:::\n",
        NSSTEXT_HEAD "a nn:1:1:::\n",
        NSSTEXT_HEAD "a/b:1:1:::\n",
        NSSTEXT_HEAD "ann:0:1:::\n",
        NSSTEXT_HEAD "root:5:1:::\n",
        NSSTEXT_HEAD "ann:-1:1:::\n",
        NSSTEXT_HEAD "ann:4294967295:1:::\n",
        NSSTEXT_HEAD "ann:4294967297:1:::\n",
        NSSTEXT_HEAD "ann::1:::\n",
        NSSTEXT_HEAD "ann:1:x:::\n",
        NSSTEXT_HEAD "ann:1:1::home:\n",
        NSSTEXT_HEAD "ann:1:1:::sh\n",
        NSSTEXT_HEAD "ann:1:1:\033[2J::\n",
        NSSTEXT_HEAD "ann:1:1:::\nusers\n",
        NSSTEXT_HEAD "ann:1:1:::\nusers:100",
        NSSTEXT_HEAD "ann:1:1:::\nusers:100:x\n",
        NSSTEXT_HEAD "ann:1:1:::\nusers:\n",
        NSSTEXT_HEAD "ann:1:1:::\n:100\n",
        NSSTEXT_HEAD "ann:1:1:::\na,b:100\n",
        NSSTEXT_HEAD "ann:1:1:::\n\n",
    };
    struct nss_user u;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (parse(bad[i], &u))
            fail_msg("taken: %s", bad[i]);
    memcpy(text_buf, NSSTEXT_HEAD "ann:1:1:::\n", 26);
    text_buf[20] = '\0'; /* a byte that ends strings */
    assert_false(nsstext_parse(text_buf, 26, &u));
    memset(text_buf, '\n', sizeof(text_buf));
    assert_false(nsstext_parse(text_buf, NSSTEXT_MAX + 1, &u));
}

static void test_names(void **state)
{
    char longest[NSSTEXT_NAME_MAX + 2];
    uint32_t n;

    (void)state;
    memset(longest, 'a', sizeof(longest));
    longest[NSSTEXT_NAME_MAX] = '\0';
    assert_true(nsstext_name(longest));
    longest[NSSTEXT_NAME_MAX] = 'a';
    longest[NSSTEXT_NAME_MAX + 1] = '\0';
    assert_false(nsstext_name(longest));
    assert_true(nsstext_name("j\xc3\xbcrgen"));
    assert_true(nsstext_number("4294967294", &n));
    assert_int_equal(n, 4294967294u);
    assert_false(nsstext_number("00000000001", &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
