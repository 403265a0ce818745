/* test_restdbindex.c - records by their names: what counts in any case, and what does not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rest/db/restdbindex.h"

static void test_names(void **state)
{
    static const struct {
        struct restdb_names names;
        size_t place; /* 9: none */
    } rows[] = {
        { { { "Physics", "test" }, { NULL, NULL } }, 0 },
        { { { "physics", "TEST" }, { "", NULL } }, 0 },
        { { { "physics", "test" }, { "bin", NULL } }, 1 },
        { { { "physics", "test" }, { "Bin", NULL } }, 9 },
        { { { "physics", "test" }, { "bin", "debug" } }, 2 },
        { { { "physics", "test" }, { "bin", "Debug" } }, 9 },
        { { { "physics", NULL }, { "bin", NULL } }, 9 },
        { { { "physicstest", NULL }, { "bin", NULL } }, 9 },
        { { { NULL, "physics" }, { "bin", NULL } }, 9 },
    };
    json_t *index = json_object();
    size_t place;

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* the second time nothing changes */
        assert_true(restdbindex_put(index, &(struct restdb_names){ { "physics", "test" } }, 4 * i));
        assert_true(restdbindex_put(
            index, &(struct restdb_names){ { "physics", "test" }, { "bin" } }, 1 + 4 * i));
        assert_true(restdbindex_put(
            index, &(struct restdb_names){ { "physics", "Test" }, { "bin", "debug" } }, 2 + 4 * i));
    }
    assert_int_equal(json_object_size(index), 3);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        place = 9;
        assert_int_equal(restdbindex_find(index, &rows[i].names, &place), rows[i].place != 9);
        assert_int_equal(place, rows[i].place);
    }
    json_decref(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
