/* test_h5lib.c - libhdf5 is loaded, and says nothing of what fails */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "h5/h5lib.h"

static void test_load(void **state)
{
    struct err err = { .text = "" };
    struct h5_api api, again;

    (void)state;
    if (h5_api_load(&api, "a test", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(h5_api_load(&again, "a test", &err), 0);
    assert_true(*api.uint64 > 0 && *api.real > 0 && *api.text > 0 && *api.file_access > 0);
    assert_true(api.f_open("/dev/null", H5_READ, H5_DEFAULT) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
