/* test_envlist.c - an environment being built: what is loaded, set, found and taken out */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stepd/env/envlist.h"

static void expect_items(struct envlist *el, const char *const *want)
{
    char *const *got = envlist_array(el);
    size_t n = 0;

    assert_non_null(got);
    for (; want[n]; n++) {
        assert_non_null(got[n]);
        assert_string_equal(got[n], want[n]);
    }
    assert_null(got[n]);
    assert_int_equal(el->n, n);
}

/* Bytes of a user: without a name, without '=', twice, without an end. */
static void test_load(void **state)
{
    static const char data[] = "A=1\0=none\0word\0B=x=y\0\0A=2\0C=\0LAST=end";
    char *copy = malloc(sizeof(data) - 1); /* not a byte behind the last one */
    struct envlist el = ENVLIST_INIT;

    (void)state;
    assert_non_null(copy);
    memcpy(copy, data, sizeof(data) - 1);
    envlist_load(&el, copy, sizeof(data) - 1);
    expect_items(&el, (const char *const[]){ "A=2", "B=x=y", "C=", "LAST=end", NULL });
    assert_string_equal(envlist_get(&el, "B"), "x=y");
    assert_string_equal(envlist_get(&el, "C"), "");
    assert_null(envlist_get(&el, "LAS"));
    assert_null(envlist_get(&el, "word"));
    envlist_load(&el, "", 0);
    envlist_load(&el, "\0\0", 2);
    assert_int_equal(el.n, 4);
    envlist_done(&el);
    expect_items(&el, (const char *const[]){ NULL });
    envlist_done(&el);
    free(copy);
}

static void test_set(void **state)
{
    struct envlist el = ENVLIST_INIT, other = ENVLIST_INIT;
    char *slot;

    (void)state;
    assert_null(envlist_get(&el, "A"));
    envlist_unset(&el, "A"); /* of nothing */
    envlist_unset_prefix(&el, "A");
    envlist_unset_part(&el, "A");
    envlist_set(&el, "A", "1");
    envlist_set(&el, "AB", "2");
    envlist_set(&el, "A", "3");
    envlist_default(&el, "A", "4");
    envlist_default(&el, "D", NULL);
    envlist_default(&el, "E", "5");
    envlist_setu(&el, "N", UINT64_MAX);
    expect_items(&el,
                 (const char *const[]){ "A=3", "AB=2", "E=5", "N=18446744073709551615", NULL });
    envlist_set(&el, "AB", NULL);
    assert_null(envlist_get(&el, "AB"));
    slot = envlist_slot(&el, "PID", 8);
    assert_non_null(slot);
    assert_string_equal(envlist_get(&el, "PID"), "");
    memcpy(slot, "4321", 5);
    assert_string_equal(envlist_get(&el, "PID"), "4321");
    envlist_borrow(&other, &el);
    envlist_set(&other, "A", "9");
    assert_string_equal(envlist_get(&el, "A"), "3"); /* the other's own */
    assert_string_equal(envlist_get(&other, "PID"), "4321");
    envlist_done(&other);
    envlist_done(&el);
}

static void test_unset_many(void **state)
{
    struct envlist el = ENVLIST_INIT;

    (void)state;
    envlist_set(&el, "SLURM_A", "1");
    envlist_set(&el, "SLURM_B_HET_GROUP_0", "2");
    envlist_set(&el, "PATH", "/x/_HET_GROUP_");
    envlist_set(&el, "SLURMD", "3");
    envlist_unset_part(&el, "_HET_GROUP_"); /* in names alone */
    expect_items(&el,
                 (const char *const[]){ "SLURM_A=1", "PATH=/x/_HET_GROUP_", "SLURMD=3", NULL });
    envlist_unset_prefix(&el, "SLURM_");
    expect_items(&el, (const char *const[]){ "PATH=/x/_HET_GROUP_", "SLURMD=3", NULL });
    envlist_unset_prefix(&el, "");
    expect_items(&el, (const char *const[]){ NULL });
    envlist_done(&el);
}

/* Values longer than what one piece of memory holds, and more variables than one list begins
 * with. */
static void test_large(void **state)
{
    struct envlist el = ENVLIST_INIT;
    char *big = malloc(100001);
    char name[16];

    (void)state;
    assert_non_null(big);
    memset(big, 'b', 100000);
    big[100000] = '\0';
    envlist_setf(&el, "BIG", "%s!", big);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof(name), "V%u", i);
        envlist_setf(&el, name, "%u-%u", i, i);
    }
    assert_int_equal(strlen(envlist_get(&el, "BIG")), 100001);
    assert_string_equal(envlist_get(&el, "V999"), "999-999");
    assert_string_equal(envlist_get(&el, "V0"), "0-0");
    assert_int_equal(el.n, 1001);
    assert_null(envlist_array(&el)[1001]);
    envlist_done(&el);
    free(big);
}

/* What could not be built is no environment. */
static void test_failed(void **state)
{
    struct envlist el = ENVLIST_INIT, other = ENVLIST_INIT;

    (void)state;
    envlist_set(&el, "A", "1");
    el.failed = true;
    envlist_set(&el, "B", "2");
    assert_null(envlist_slot(&el, "C", 4));
    assert_null(envlist_get(&el, "B"));
    assert_null(envlist_array(&el));
    envlist_borrow(&other, &el);
    assert_true(other.failed);
    envlist_done(&el);
    envlist_done(&other);
    assert_false(el.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),       cmocka_unit_test(test_set),
        cmocka_unit_test(test_unset_many), cmocka_unit_test(test_large),
        cmocka_unit_test(test_failed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
