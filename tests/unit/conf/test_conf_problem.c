/* test_conf_problem.c - the list of the mistakes in a configuration */
#include "conf_util.h"

#include "conf/conf_priv.h"

static void test_list(void **state)
{
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    struct conf_loader l = { .problems = &problems, .err = &err };
    char *report = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&report, &len);

    (void)state;
    assert_non_null(f);
    conf_warn(&l, "a.conf", 3, "%s is odd", "x");
    assert_string_equal(err.text, ""); /* a warning is no error */
    conf_error(&l, "a.conf", 4, "%s is wrong", "y\n\033[2J");
    conf_error(&l, "b.conf", 0, "it is missing");
    assert_string_equal(err.text, "a.conf:4: y??[2J is wrong"); /* the first one */
    assert_int_equal(l.nerrors, 2);
    conf_report(f, &problems);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(report, "a.conf:3: warning: x is odd\n"
                                "a.conf:4: error: y??[2J is wrong\n"
                                "b.conf: error: it is missing\n");
    free(report);
    conf_problems_done(&problems);
    assert_int_equal(problems.n, 0);
}

/* Of very many only so many are listed; all are counted. */
static void test_many(void **state)
{
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };
    struct conf_loader l = { .problems = &problems, .err = &err };

    (void)state;
    for (unsigned i = 0; i < CONF_MAX_PROBLEMS + 50; i++)
        conf_error(&l, "a.conf", i + 1, "wrong");
    assert_int_equal(problems.n, CONF_MAX_PROBLEMS);
    assert_int_equal(l.nerrors, CONF_MAX_PROBLEMS + 50);
    conf_problems_done(&problems);
    l.problems = NULL; /* nobody wants the list */
    conf_warn(&l, "a.conf", 1, "odd");
    conf_error(&l, "a.conf", 1, "wrong");
    assert_int_equal(l.nerrors, CONF_MAX_PROBLEMS + 51);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
