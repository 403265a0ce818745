/* test_keyindex.c - idempotency keys by digest and by age; limits; numbers that go around */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctld/submit/keyindex.h"

#define PER_USER 3u
#define ALL 5u

static struct keyindex *new_index(void)
{
    struct keyindex *x = NULL;

    assert_int_equal(keyindex_new(PER_USER, ALL, &x), 0);
    return x;
}

/* Digests of one place: their first 8 bytes are the same. */
static struct keyindex_entry entry(uint32_t number, uint32_t uid)
{
    struct keyindex_entry e = { .number = number, .uid = uid, .time_us = number };

    memcpy(e.key.bytes + 8, &number, sizeof(number));
    return e;
}

static void put(struct keyindex *x, uint32_t number, uint32_t uid)
{
    struct keyindex_entry e = entry(number, uid);

    keyindex_put(x, &e);
}

static uint32_t found(const struct keyindex *x, uint32_t number)
{
    struct keyindex_entry e = entry(number, 0);
    const struct keyindex_entry *at = keyindex_find(x, &e.key);

    return at ? at->number : 0;
}

static void test_find(void **state)
{
    struct keyindex *x = new_index();

    (void)state;
    assert_int_equal(keyindex_next(x), 1);
    assert_null(keyindex_oldest(x));
    for (uint32_t i = 1; i <= 4; i++)
        put(x, i, 0);
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(found(x, i), i);
    assert_int_equal(found(x, 5), 0);
    keyindex_remove(x, 2); /* in the middle, at the end and at the beginning of the chain */
    keyindex_remove(x, 1);
    keyindex_remove(x, 4);
    keyindex_remove(x, 77);
    assert_int_equal(found(x, 3), 3);
    assert_int_equal(found(x, 1) + found(x, 2) + found(x, 4), 0);
    assert_int_equal(keyindex_count(x), 1);
    assert_int_equal(keyindex_next(x), 4);
    put(x, 3, 9); /* said again: it is one */
    assert_int_equal(keyindex_count(x), 1);
    assert_int_equal(keyindex_oldest(x)->uid, 9);
    keyindex_remove(x, 3);
    assert_null(keyindex_oldest(x));
    keyindex_free(x);
}

static void test_limits(void **state)
{
    struct keyindex *x = new_index();

    (void)state;
    put(x, 1, 7);
    put(x, 2, 8);
    put(x, 3, 8);
    assert_null(keyindex_in_the_way(x, 8));
    put(x, 4, 8);
    assert_int_equal(keyindex_in_the_way(x, 8)->number, 2); /* his oldest, not another's */
    assert_null(keyindex_in_the_way(x, 7));
    put(x, 5, 9);
    assert_int_equal(keyindex_in_the_way(x, 7)->number, 1); /* the oldest of all */
    assert_int_equal(keyindex_in_the_way(x, 8)->number, 2);
    keyindex_remove(x, 1);
    assert_null(keyindex_in_the_way(x, 10));
    assert_int_equal(keyindex_oldest(x)->number, 2);
    keyindex_free(x);
}

/* As after a restart; the newest numbers have gone around. */
static void test_in_no_order(void **state)
{
    static const uint32_t numbers[] = { 1, UINT32_MAX, 3, UINT32_MAX - 1, 2 };
    static const uint32_t ages[] = { UINT32_MAX - 1, UINT32_MAX, 1, 2, 3 };
    struct keyindex *x = new_index();

    (void)state;
    for (size_t i = 0; i < 5; i++)
        put(x, numbers[i], (uint32_t)i % 2);
    assert_int_equal(keyindex_next(x), 4);
    assert_int_equal(keyindex_in_the_way(x, 0)->number, 1); /* 1, 3, 2 are his */
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(keyindex_oldest(x)->number, ages[i]);
        keyindex_remove(x, ages[i]);
    }
    put(x, UINT32_MAX, 0);
    assert_int_equal(keyindex_next(x), 1); /* 0 is none */
    keyindex_free(x);
    assert_null(keyindex_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_in_no_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
