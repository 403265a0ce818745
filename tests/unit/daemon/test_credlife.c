/* test_credlife.c - how long credentials are good, as the configuration says */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf_util.h"
#include "daemon/credlife.h"

static void test_life(void **state)
{
    struct conf *c = conf_with_lines("AuthInfo=socket=/run/m.sock,cred_expire=5");

    (void)state;
    assert_int_equal(credlife_us(c), 5000000);
    (void)conf_free(c); /* always NULL */
    c = conf_with_lines("");
    assert_int_equal(credlife_us(c), 120000000);
    (void)conf_free(c); /* always NULL */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_life) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
