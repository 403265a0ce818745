/* test_pam_options.c - the arguments of pam_slurm_adopt */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <syslog.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "pam/pamoptions.h"

static void count(void *ctx, const char *arg)
{
    (void)arg;
    (*(int *)ctx)++;
}

static struct pam_options parse(int argc, const char **argv, int want_bad)
{
    struct pam_options o;
    int bad = 0;

    pam_options_parse(argc, argv, count, &bad, &o);
    assert_int_equal(bad, want_bad);
    return o;
}

static void test_defaults(void **state)
{
    struct pam_options o = parse(0, NULL, 0);

    (void)state;
    assert_int_equal(o.no_jobs, PAM_ACT_DENY);
    assert_int_equal(o.unknown, PAM_ACT_NEWEST);
    assert_int_equal(o.adopt_failure, PAM_ACT_ALLOW);
    assert_int_equal(o.generic_failure, PAM_ACT_IGNORE);
    assert_false(o.disable_x11);
    assert_true(o.join_container);
    assert_int_equal(o.log_level, LOG_INFO);
    assert_null(o.nodename);
    assert_string_equal(o.service, "sshd");
}

static void test_all(void **state)
{
    const char *argv[] = { "action_no_jobs=ignore",
                           "action_unknown=deny",
                           "action_adopt_failure=deny",
                           "ACTION_GENERIC_FAILURE=Allow",
                           "disable_x11=1",
                           "join_container=false",
                           "log_level=debug3",
                           "nodename=n7",
                           "service=*" };
    struct pam_options o = parse(ARRAY_SIZE(argv), argv, 0);

    (void)state;
    assert_int_equal(o.no_jobs, PAM_ACT_IGNORE);
    assert_int_equal(o.unknown, PAM_ACT_DENY);
    assert_int_equal(o.adopt_failure, PAM_ACT_DENY);
    assert_int_equal(o.generic_failure, PAM_ACT_ALLOW);
    assert_true(o.disable_x11);
    assert_false(o.join_container);
    assert_int_equal(o.log_level, LOG_DEBUG);
    assert_string_equal(o.nodename, "n7");
    assert_string_equal(o.service, "*");
}

/* Nothing that is not understood opens a door. */
static void test_bad(void **state)
{
    const char *argv[] = { "action_no_jobs=allow",
                           "action_no_jobs",
                           "action_unknown=",
                           "action_unknown=ignore",
                           "debug",
                           "log_level=loud",
                           "action_no_jobs=ignor",
                           "action_no_job=ignore",
                           "service=",
                           "disable_x11=maybe" };
    struct pam_options o = parse(ARRAY_SIZE(argv), argv, ARRAY_SIZE(argv));

    (void)state;
    assert_int_equal(o.no_jobs, PAM_ACT_DENY);
    assert_int_equal(o.unknown, PAM_ACT_NEWEST);
    assert_int_equal(o.log_level, LOG_INFO);
    assert_false(o.disable_x11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_bad),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
