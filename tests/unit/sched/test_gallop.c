/* test_gallop.c - the first place from which on something holds: found, cheaply, with groups */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/plan/gallop.h"

struct places {
    uint32_t first; /* it holds from here on; 0 = nowhere */
    uint32_t group; /* places of one group have one answer */
    uint32_t asked, fail_at;
};

static int ask_place(void *ctx, uint32_t at, uint32_t *lo, uint32_t *hi)
{
    struct places *p = ctx;
    uint32_t begin = (at - 1) / p->group * p->group;

    p->asked++;
    if (p->fail_at && at >= p->fail_at)
        return -ENOMEM;
    *lo = begin;
    *hi = begin + p->group;
    return p->first && begin + p->group >= p->first;
}

static void test_every_place(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= 70; n++) {
        for (uint32_t first = 0; first <= n; first++) {
            struct places p = { .first = first, .group = 1 };
            uint32_t at = 99;

            assert_int_equal(gallop(n, ask_place, &p, &at), 0);
            assert_int_equal(at, first);
        }
    }
}

/* An early place costs few questions, however many places there are. */
static void test_cost(void **state)
{
    struct places p = { .first = 3, .group = 1 };
    uint32_t at = 0;

    (void)state;
    assert_int_equal(gallop(1u << 20, ask_place, &p, &at), 0);
    assert_int_equal(at, 3);
    assert_true(p.asked <= 6);
}

/* Places of one group are answered together: the answer is the first place of the group. */
static void test_groups(void **state)
{
    (void)state;
    for (uint32_t first = 1; first <= 64; first++) {
        struct places p = { .first = first, .group = 4 };
        uint32_t at = 0;

        assert_int_equal(gallop(64, ask_place, &p, &at), 0);
        assert_int_equal(at, (first - 1) / 4 * 4 + 1);
    }
}

static void test_error(void **state)
{
    struct places p = { .first = 60, .group = 1, .fail_at = 16 };
    uint32_t at = 0;

    (void)state;
    assert_int_equal(gallop(64, ask_place, &p, &at), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_place),
        cmocka_unit_test(test_cost),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
