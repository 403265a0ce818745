/* test_adminfollow.c - answers and questions where nobody has to be waited for */
#include "admin_util.h"

#include "acct/admin/adminfollow.h"

static void test_nobody_follows(void **state)
{
    struct adminfollow *fs = adminfollow_new();
    struct admin_delivery *d = calloc(1, sizeof(*d));
    bool gave_up = true;

    (void)state;
    assert_non_null(fs);
    assert_non_null(d);
    assert_false(adminfollow_deliver(fs, d, 7)); /* it is given at once, and freed */
    assert_int_equal(adminfollow_ask(fs), 0);
    assert_true(adminfollow_brought(fs) == UINT64_MAX);
    assert_int_equal(adminfollow_expire(fs, &gave_up), 0);
    assert_false(gave_up);
    assert_null(adminfollow_free(fs));
    assert_null(adminfollow_free(NULL));
    assert_null(admin_delivery_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_nobody_follows) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
