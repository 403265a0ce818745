/* test_turn.c - of two daemons one works on a store, with either engine (see acct_util.h) */
#include "acct_util.h"

#include "acct/turn.h"

static int turn_of(struct turn *t)
{
    struct err err = { .text = "" };
    int r = turn_ask(t, &err);

    assert_string_equal(err.text, "");
    return r;
}

static void test_first_comes_first(void **state)
{
    struct world *w = *state;
    struct turn *first = NULL, *second = NULL;

    assert_int_equal(turn_new(w->db, true, &first), 0);
    assert_int_equal(turn_new(w->db, false, &second), 0);
    assert_int_equal(turn_of(second), 1); /* nobody else is here */
    assert_int_equal(turn_of(second), 1);
    assert_int_equal(turn_of(first), 0); /* here, but the second works still */
    assert_int_equal(turn_of(second), 0);
    assert_int_equal(turn_of(first), 0);
    turn_yield(second);
    assert_int_equal(turn_of(first), 1);
    assert_int_equal(turn_of(second), 0);
    turn_yield(second); /* of what it has not */
    assert_int_equal(turn_of(first), 1);
    first = turn_free(first);
    assert_int_equal(turn_of(second), 1);
    assert_null(turn_free(second));
}

static void test_two_firsts(void **state)
{
    struct world *w = *state;
    struct turn *one = NULL, *other = NULL;

    assert_int_equal(turn_new(w->db, true, &one), 0);
    assert_int_equal(turn_new(w->db, true, &other), 0);
    assert_int_equal(turn_of(one), 1);
    assert_int_equal(turn_of(other), 0);
    one = turn_free(one);
    assert_int_equal(turn_of(other), 1);
    assert_null(turn_free(other));
}

static void test_no_database(void **state)
{
    struct err err = { .text = "" };
    struct turn *t = NULL;

    (void)state;
    assert_int_equal(turn_new("/nowhere/acct.db", true, &t), 0);
    assert_int_equal(turn_ask(t, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nowhere/acct.db-turn"));
    turn_yield(t);
    assert_null(turn_free(t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_comes_first, world_setup, world_teardown),
        cmocka_unit_test_setup_teardown(test_two_firsts, world_setup, world_teardown),
        cmocka_unit_test(test_no_database),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
