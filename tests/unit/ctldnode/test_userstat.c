/* test_userstat.c - what each user asked for, and from when on */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "ctld/front/userstat.h"

static const Pst__UserStat *find_user(Pst__UserStat **list, ssize_t n, uid_t uid)
{
    for (ssize_t i = 0; i < n; i++)
        if (list[i]->uid == uid)
            return list[i];
    return NULL;
}

static void test_counts_and_resets(void **state)
{
    _cleanup_free_ Pst__UserStat **list = NULL;
    struct userstat *us = NULL;
    const Pst__UserStat *u;

    (void)state;
    assert_int_equal(userstat_new(&us), 0);
    assert_int_equal(userstat_fill(us, &list, false), 0);
    assert_null(list);
    userstat_count(us, 0, 30);
    userstat_count(us, 1004, 100);
    userstat_count(us, 1004, 225);
    userstat_count(us, UINT32_MAX - 1, 1); /* the greatest uid there can be */
    assert_int_equal(userstat_fill(us, &list, true), 3);
    u = find_user(list, 3, 1004);
    assert_non_null(u);
    assert_int_equal(u->count, 2);
    assert_int_equal(u->total_us, 325);
    u = find_user(list, 3, 0);
    assert_non_null(u);
    assert_int_equal(u->count, 1);
    assert_non_null(find_user(list, 3, UINT32_MAX - 1));
    free(list);
    assert_int_equal(userstat_fill(us, &list, false), 0); /* reset */
    userstat_count(us, 1004, 7);
    assert_int_equal(userstat_fill(us, &list, false), 1);
    assert_int_equal(list[0]->count, 1);
    assert_int_equal(list[0]->total_us, 7);
    assert_null(userstat_free(us));
}

static void test_has_an_end(void **state)
{
    _cleanup_free_ Pst__UserStat **list = NULL;
    struct userstat *us = NULL;

    (void)state;
    assert_int_equal(userstat_new(&us), 0);
    for (uid_t uid = 0; uid < USERSTAT_MAX + 10; uid++)
        userstat_count(us, uid, 1);
    userstat_count(us, 5, 1); /* still counted */
    assert_int_equal(userstat_fill(us, &list, false), USERSTAT_MAX);
    assert_int_equal(find_user(list, USERSTAT_MAX, 5)->count, 2);
    userstat_free(us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_and_resets),
        cmocka_unit_test(test_has_an_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
