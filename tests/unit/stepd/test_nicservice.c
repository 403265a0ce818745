/* test_nicservice.c - steps without services on NICs, and a step that failed before */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "stepd/nicservice.h"
#include "stepd/step.h"

static void test_without(void **state)
{
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    Pst__CxiPlan plan = PST__CXI_PLAN__INIT;
    struct step s = { .sf = &sf };

    (void)state;
    nics_start(&s);
    assert_true(nics_cleaned(&s, 0));
    assert_int_equal(nics_deadline(&s), 0);
    sf.cxi = &plan; /* without a VNI */
    nics_start(&s);
    assert_true(nics_cleaned(&s, 0));
    assert_null(s.error);
}

static void test_child(void **state)
{
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    Pst__CxiPlan plan = PST__CXI_PLAN__INIT;
    struct step s = { .sf = &sf, .nics_pid = 77, .nics_mono_us = 1000 };
    uint32_t vni = 5;

    (void)state;
    sf.cxi = &plan;
    plan.vnis = &vni;
    plan.n_vnis = 1;
    assert_int_equal(nics_deadline(&s), 1000);
    assert_false(nics_cleaned(&s, 999));
    assert_true(nics_cleaned(&s, 1000)); /* a driver that does not answer */
    assert_false(nics_reaped(&s, 78));
    assert_true(nics_reaped(&s, 77));
    assert_true(nics_cleaned(&s, 0));
    s.error = "failed before";
    s.nics_mono_us = 0;
    nics_start(&s); /* starts nothing */
    assert_int_equal(s.nics_pid, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_child),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
