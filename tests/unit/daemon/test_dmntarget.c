/* test_dmntarget.c - a controller as the configuration says */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf_util.h"
#include "daemon/dmntarget.h"

static void test_controller(void **state)
{
    struct conf *c = conf_with_lines("SlurmctldPort=7001\nMessageTimeout=4\nAuthType=auth/munge\n"
                                     "AuthInfo=socket=/run/m.sock");
    struct client_target t = dmntarget_controller(c, "slurmd");

    (void)state;
    assert_int_equal(t.port, 7001);
    assert_int_equal(t.timeout_ms, 4000);
    assert_string_equal(t.cluster, "c");
    assert_string_equal(t.program, "slurmd");
    assert_true(t.use_munge);
    assert_string_equal(t.munge_socket, "/run/m.sock");
    assert_null(t.host);
    assert_null(t.tls);
    (void)conf_free(c); /* always NULL */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_controller) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
