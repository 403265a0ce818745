/* test_out_users.c - names of user and group ids */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "cli/query/out_users.h"

#define NOBODY_HAS 3999999999u

static void test_users(void **state)
{
    const char *unknown = user_name_of(NOBODY_HAS);
    const struct passwd *pw = getpwuid(getuid());

    (void)state;
    assert_string_equal(user_name_of(0), "root");
    assert_string_equal(unknown, "nobody");
    assert_ptr_equal(user_name_of(NOBODY_HAS), unknown); /* looked up once */
    if (pw)
        assert_string_equal(user_name_of(getuid()), pw->pw_name);
}

static void test_groups(void **state)
{
    const char *unknown = group_name_of(NOBODY_HAS);
    const struct group *gr = getgrgid(getgid());

    (void)state;
    assert_string_equal(group_name_of(0), "root");
    assert_string_equal(unknown, "3999999999");
    assert_ptr_equal(group_name_of(NOBODY_HAS), unknown);
    if (gr)
        assert_string_equal(group_name_of(getgid()), gr->gr_name);
}

/* A user's number is not a group's. */
static void test_apart(void **state)
{
    (void)state;
    assert_string_equal(user_name_of(NOBODY_HAS - 1), "nobody");
    assert_string_equal(group_name_of(NOBODY_HAS - 1), "3999999998");
}

static void test_ids(void **state)
{
    uint32_t uid = 7;

    (void)state;
    assert_int_equal(user_id_of("root", &uid), 0);
    assert_int_equal(uid, 0);
    assert_int_equal(user_id_of("4000001", &uid), 0);
    assert_int_equal(uid, 4000001);
    assert_int_equal(user_id_of("no-such-person-1", &uid), -ENOENT);
    assert_int_equal(user_id_of("", &uid), -ENOENT);
    assert_int_equal(user_id_of("-1", &uid), -ENOENT);
    assert_int_equal(user_id_of("4294967295", &uid), -ENOENT); /* stands for nobody */
    assert_int_equal(uid, 4000001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_ids),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
