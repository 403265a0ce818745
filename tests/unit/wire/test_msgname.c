/* What Slurm calls the requests that the daemons count. */
#include "wire/msgname.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wire/ops.h"

static void test_recorded_names(void **state)
{
    (void)state;
    assert_string_equal(msgname_of("query-diag").name, "REQUEST_STATS_INFO");
    assert_int_equal(msgname_of("query-diag").number, 2035);
    assert_string_equal(msgname_of("job-submit").name, "REQUEST_SUBMIT_BATCH_JOB");
    assert_int_equal(msgname_of("job-submit").number, 4003);
    assert_string_equal(msgname_of_dbd("query-acct").name, "DBD_GET_JOBS_COND");
    assert_int_equal(msgname_of_dbd("query-acct").number, 1444);
}

static void test_names_without_counterpart(void **state)
{
    (void)state;
    assert_string_equal(msgname_of("query-explain").name, "query-explain");
    assert_int_equal(msgname_of("query-explain").number, OP_QUERY_EXPLAIN);
    assert_string_equal(msgname_of("of-a-later-version").name, "of-a-later-version");
    assert_int_equal(msgname_of("of-a-later-version").number, 0);
    assert_string_equal(msgname_of(NULL).name, "");
}

/* Tools sum by name, and sort by number. */
static void test_no_name_twice(void **state)
{
    static const char *const ops[] = {
#define NAME(symbol, op_id, op_name, ...) op_name,
        WIRE_OPS(NAME)
#undef NAME
    };

    (void)state;
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(msgname_of(ops[i]).name, msgname_of(ops[k]).name);
            assert_int_not_equal(msgname_of(ops[i]).number, msgname_of(ops[k]).number);
            assert_string_not_equal(msgname_of_dbd(ops[i]).name, msgname_of_dbd(ops[k]).name);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_names),
        cmocka_unit_test(test_names_without_counterpart),
        cmocka_unit_test(test_no_name_twice),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
