/* test_turns.c - jobs of a simulation that share CPUs take turns */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/turns.h"

#define SEC INT64_C(1000000)

static char told[256]; /* "-1 +0": job 1 stops, job 0 goes on */
static int answer;

static int hear_turn(void *ctx, uint32_t i, bool runs)
{
    size_t len = strlen(told);

    assert_ptr_equal(ctx, &answer);
    (void)snprintf(told + len, sizeof(told) - len, "%s%c%u", len ? " " : "", runs ? '+' : '-', i);
    return answer;
}

/* Job i takes these CPUs of node 0. */
static void begin_job(struct turns *t, uint32_t i, uint64_t cpus, uint32_t rank, int64_t at_s)
{
    struct sched_alloc_node node = { .node_id = 0, .ncpu_words = 1, .cpu_bits = &cpus };
    struct sched_alloc alloc = { .nnodes = 1, .nodes = &node };

    assert_int_equal(turns_begin(t, i, &alloc, rank, at_s * SEC), 0);
    cpus = 0; /* the turns have a copy */
}

static void expect_turn(struct turns *t, int64_t at_s, bool next, const char *want)
{
    told[0] = '\0';
    assert_int_equal(turns_take(t, at_s * SEC, next, hear_turn, &answer), 0);
    assert_string_equal(told, want);
}

static void test_two(void **state)
{
    struct turns *t = NULL;

    (void)state;
    assert_int_equal(turns_new(4, &t), 0);
    assert_false(turns_any_waits(t));
    begin_job(t, 2, 0x3, 1, 0);
    expect_turn(t, 0, false, "");
    begin_job(t, 0, 0x6, 1, 10); /* shares a CPU with job 2 */
    begin_job(t, 3, 0xf0, 1, 10);
    expect_turn(t, 10, false, "-0"); /* the one that began last gives way */
    assert_true(turns_waits(t, 0));
    assert_false(turns_waits(t, 2));
    assert_false(turns_waits(t, 3));
    assert_false(turns_waits(t, 1)); /* not there */
    assert_true(turns_any_waits(t));
    expect_turn(t, 20, false, ""); /* within a slice nothing changes */
    expect_turn(t, 30, true, "-2 +0");
    assert_true(turns_waits(t, 2));
    expect_turn(t, 60, true, "-0 +2");
    turns_end(t, 2);
    turns_end(t, 2);                 /* it is gone */
    expect_turn(t, 70, false, "+0"); /* its CPUs are free */
    assert_false(turns_any_waits(t));
    turns_end(t, 1);
    turns_end(t, 0);
    turns_end(t, 3);
    expect_turn(t, 80, true, "");
    assert_null(turns_free(t));
    assert_null(turns_free(NULL));
}

/* One that ends while it waits does not count as waiting any more. */
static void test_end_while_waiting(void **state)
{
    struct turns *t = NULL;

    (void)state;
    assert_int_equal(turns_new(3, &t), 0);
    for (uint32_t i = 0; i < 3; i++)
        begin_job(t, i, 1, 1, i);
    expect_turn(t, 3, false, "-1 -2");
    turns_end(t, 1);
    assert_true(turns_any_waits(t));
    assert_false(turns_waits(t, 1));
    assert_true(turns_waits(t, 2)); /* whose place has moved */
    turns_end(t, 2);
    assert_false(turns_any_waits(t));
    expect_turn(t, 30, true, "");
    begin_job(t, 1, 1, 1, 40); /* a number is of use again */
    expect_turn(t, 40, false, "-1");
    turns_free(t);
}

/* A job of a higher rank does not take turns with lower ones. */
static void test_ranks(void **state)
{
    struct turns *t = NULL;

    (void)state;
    assert_int_equal(turns_new(2, &t), 0);
    begin_job(t, 0, 1, 1, 0);
    begin_job(t, 1, 1, 2, 10);
    expect_turn(t, 30, true, "-0");
    expect_turn(t, 60, true, "");
    expect_turn(t, 90, true, "");
    turns_end(t, 1);
    expect_turn(t, 100, false, "+0");
    turns_free(t);
}

/* The first refusal of the listener ends it. */
static void test_refusal(void **state)
{
    struct turns *t = NULL;

    (void)state;
    assert_int_equal(turns_new(3, &t), 0);
    for (uint32_t i = 0; i < 3; i++)
        begin_job(t, i, 1, 1, i);
    told[0] = '\0';
    answer = -ECANCELED;
    assert_int_equal(turns_take(t, 5 * SEC, false, hear_turn, &answer), -ECANCELED);
    answer = 0;
    assert_string_equal(told, "-1");
    turns_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_end_while_waiting),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_refusal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
