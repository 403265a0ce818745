/* test_strtab.c - strings as small ids, and counts by user, association and partition */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sched/base/strtab.h"
#include "sched/base/tally.h"

static void test_ids(void **state)
{
    struct strtab t = { 0 };
    char text[16];
    uint32_t id;

    (void)state;
    assert_int_equal(strtab_find(&t, "a", 1), STRTAB_NONE);
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof(text), "name%u", i);
        assert_int_equal(strtab_intern(&t, text, &id), 0);
        assert_int_equal(id, i); /* ids are dense */
    }
    for (uint32_t i = 0; i < 1000; i++) {
        (void)snprintf(text, sizeof(text), "name%u", i);
        assert_int_equal(strtab_intern(&t, text, &id), 0);
        assert_int_equal(id, i); /* known: the same id */
        assert_int_equal(strtab_find(&t, text, strlen(text)), i);
        assert_string_equal(t.names[i], text);
    }
    assert_int_equal(strtab_find(&t, "name12", 5), 1); /* the first five letters: "name1" */
    assert_int_equal(t.n, 1000);
    strtab_done(&t);
}

static void test_tally(void **state)
{
    struct tally t = { 0 };
    uint32_t n;

    (void)state;
    for (uint32_t round = 1; round <= 3; round++) {
        for (uint32_t user = 0; user < 200; user++) {
            assert_int_equal(tally_count(&t, TALLY_USER, user, 0, &n), 0);
            assert_int_equal(n, round);
            assert_int_equal(tally_count(&t, TALLY_ASSOC, user, 0, &n), 0);
            assert_int_equal(n, round); /* of another sort: counted apart */
            assert_int_equal(tally_count(&t, TALLY_USER_PART, user, 7, &n), 0);
            assert_int_equal(n, round);
        }
    }
    tally_reset(&t);
    assert_int_equal(tally_count(&t, TALLY_USER, 5, 0, &n), 0);
    assert_int_equal(n, 1);
    tally_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_tally),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
