/* test_connpending.c - what a connection's unanswered requests weigh */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/server/connpending.h"

static void test_counts(void **state)
{
    struct conn_pending p = { 0 };

    (void)state;
    assert_false(conn_pending_end(&p, 1)); /* an answer that nothing waits for */
    conn_pending_add(&p, 1, PENDING_LARGE - 1);
    conn_pending_add(&p, 2, PENDING_LARGE);
    conn_pending_add(&p, 3, 0);
    assert_int_equal(p.n, 3);
    assert_int_equal(p.large_bytes, PENDING_LARGE);
    assert_true(conn_pending_end(&p, 1));
    assert_int_equal(p.large_bytes, PENDING_LARGE); /* it weighed nothing */
    assert_true(conn_pending_end(&p, 2));
    assert_true(conn_pending_end(&p, 3));
    assert_false(conn_pending_end(&p, 3));
    assert_int_equal(p.n, 0);
    assert_int_equal(p.large_bytes, 0);
    conn_pending_done(&p);
}

/* Answers come in another order than requests did, and an id may be there twice. */
static void test_order(void **state)
{
    struct conn_pending p = { 0 };
    size_t left = 0;

    (void)state;
    for (uint32_t id = 0; id < 100; id++) {
        conn_pending_add(&p, id, 10000 + id);
        left += 10000 + id;
    }
    conn_pending_add(&p, 7, 10007);
    left += 10007;
    assert_int_equal(p.large_bytes, left);
    for (uint32_t k = 0; k < 100; k++) {
        uint32_t id = k * 37 % 100; /* each once */

        assert_true(conn_pending_end(&p, id));
        left -= 10000 + id;
        assert_int_equal(p.large_bytes, left);
    }
    assert_int_equal(p.n, 1);
    assert_int_equal(p.large_bytes, 10007);
    assert_true(conn_pending_end(&p, 7));
    assert_int_equal(p.large_bytes, 0);
    conn_pending_done(&p);
    assert_int_equal(p.cap_large, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
