/* test_jobextra.c - when a job's --extra must be a request about nodes */
#include "conf_util.h"

#include "conf/conf.h"
#include "ctld/submit/jobextra.h"
#include "wire/errors.h"

static int check_with(const char *parameters, const char *extra, struct err *err)
{
    struct conf *conf = conf_with_lines(parameters);
    int code = jobextra_check(conf, extra, err);

    conf_free(conf);
    return code;
}

static void test_check(void **state)
{
    static const char on[] = "SchedulerParameters=extra_constraints";
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(check_with("", "any & text", NULL), 0);
    assert_int_equal(check_with(on, NULL, NULL), 0);
    assert_int_equal(check_with(on, "", NULL), 0);
    assert_int_equal(check_with(on, "load<0.5", NULL), 0);
    assert_int_equal(check_with(on, "any & text", &err), ESLURM_INVALID_EXTRA);
    assert_string_equal(err.text, "extra: one of = != < <= > >= expected at column 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_check) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
