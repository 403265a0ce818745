/* test_imexdev.c - the device of an IMEX channel: steps without one, and a folder that is
 * not there */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "stepd/ns/imexdev.h"
#include "stepd/step.h"

static void test_without(void **state)
{
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct step s = { .sf = &sf, .ns_fd = -1 };

    (void)state;
    imexdev_make(&s);
    assert_null(s.error);
    sf.has_imex_channel = true;
    s.ns_fd = 0; /* in the job's namespace, where the extern step made it */
    imexdev_make(&s);
    assert_null(s.error);
    s.ns_fd = -1;
    s.error = "failed before";
    imexdev_make(&s);
    assert_string_equal(s.error, "failed before");
}

static void test_no_folder(void **state)
{
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct step s = { .sf = &sf, .ns_fd = -1 };

    (void)state;
    sf.has_imex_channel = sf.has_imex_major = true;
    sf.imex_channel = 3;
    sf.imex_dir = (char *)"/nonexistent";
    imexdev_make(&s);
    assert_non_null(s.error);
    assert_non_null(strstr(s.error, "Could not make the device of IMEX channel 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_no_folder),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
