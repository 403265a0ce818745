/* test_idlist.c - growing lists of job ids */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "ctld/core/idlist.h"

static void test_order_stays(void **state)
{
    struct idlist *l = calloc(1, sizeof(*l));

    (void)state;
    assert_non_null(l);
    for (uint32_t id = 1; id <= 100; id++)
        idlist_push(l, id * 3);
    assert_int_equal(l->n, 100);
    for (uint32_t id = 1; id <= 100; id++)
        assert_int_equal(l->ids[id - 1], id * 3);
    idlist_free(l);
    idlist_free(NULL);
}

static void test_add_once(void **state)
{
    struct idlist l = { 0 };

    (void)state;
    idlist_add(&l, 7);
    idlist_add(&l, 5);
    idlist_add(&l, 7);
    assert_int_equal(l.n, 2);
    idlist_push(&l, 7); /* does not look */
    assert_int_equal(l.n, 3);
    assert_int_equal(l.ids[0], 7);
    assert_int_equal(l.ids[1], 5);
    assert_int_equal(l.ids[2], 7);
    free(l.ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order_stays),
                                        cmocka_unit_test(test_add_once) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("idlist", tests, NULL, NULL);
}
