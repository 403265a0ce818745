/* test_username.c - names of uids by a name service of the test's own */
#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/people/username.h"

/* User 60003 has the number of somebody without a name for a name. */
static const struct {
    uid_t uid;
    const char *name;
} users[] = { { 60001, "ann" }, { 60003, "60002" } };
static int broken; /* the errno of both questions */

static int answer(size_t i, struct passwd *pw, struct passwd **ret)
{
    *ret = NULL;
    if (broken)
        return broken;
    if (i < ARRAY_SIZE(users)) {
        *pw = (struct passwd){ .pw_name = (char *)users[i].name, .pw_uid = users[i].uid };
        *ret = pw;
    }
    return 0;
}

int getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
    size_t i = 0;

    (void)buf, (void)size;
    while (i < ARRAY_SIZE(users) && users[i].uid != uid)
        i++;
    return answer(i, pw, ret);
}

int getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size, struct passwd **ret)
{
    size_t i = 0;

    (void)buf, (void)size;
    while (i < ARRAY_SIZE(users) && strcmp(users[i].name, name) != 0)
        i++;
    return answer(i, pw, ret);
}

static void test_names(void **state)
{
    char name[32];

    (void)state;
    assert_int_equal(username_of(60001, name, sizeof(name)), 0);
    assert_string_equal(name, "ann");
    assert_int_equal(username_of(60003, name, sizeof(name)), 0);
    assert_string_equal(name, "60002");
    assert_int_equal(username_of(60004, name, sizeof(name)), 0);
    assert_string_equal(name, "60004");
}

/* A number must not stand for the user who is called so. */
static void test_another_one(void **state)
{
    char name[32];

    (void)state;
    assert_int_equal(username_of(60002, name, sizeof(name)), -ENOENT);
}

static void test_no_answer(void **state)
{
    char name[32];

    (void)state;
    broken = EIO;
    assert_int_equal(username_of(60001, name, sizeof(name)), -ENOENT);
    broken = 0;
    assert_int_equal(username_of(60001, name, 3), -ENOENT); /* a cut name is another one */
    assert_int_equal(username_of(60001, name, 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_another_one),
        cmocka_unit_test(test_no_answer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
