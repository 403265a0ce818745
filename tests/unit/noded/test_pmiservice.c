/* test_pmiservice.c - an MPI service that somebody else starts than the step daemon does nothing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "pmi/pmiservice.h"

static int start_never(struct service *s)
{
    (void)s;
    fail_msg("it was started");
    return 0;
}

static const struct service_kind kind = { .name = "test", .start = start_never };

static void test_version(void **state)
{
    char *argv[] = { (char *)"slurmstepd-test", (char *)"--version", NULL };

    (void)state;
    assert_int_equal(service_main(&kind, 2, argv), 0);
}

static void test_no_step_daemon(void **state)
{
    char *argv[] = { (char *)"slurmstepd-test", (char *)"word", NULL };

    (void)state;
    (void)close(SERVICE_FD_FILE); /* whatever the test's parent left there */
    (void)close(SERVICE_FD_LINK);
    assert_int_equal(service_main(&kind, 2, argv), 1);
    assert_int_equal(service_main(&kind, 1, argv), 1);
    assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), SERVICE_FD_FILE);
    assert_int_equal(service_main(&kind, 1, argv), 1); /* the link is missing */
    assert_int_equal(fcntl(SERVICE_FD_LINK, F_GETFD), -1);
    (void)close(SERVICE_FD_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_version),
                                        cmocka_unit_test(test_no_step_daemon) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pmiservice", tests, NULL, NULL);
}
