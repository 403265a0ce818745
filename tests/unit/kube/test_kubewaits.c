/* test_kubewaits.c - how long jobs of pods wait, once they have their nodes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "kube/bridge/bridgeconf.h"
#include "kube/bridge/bridgegang.h"

/* Each wait of each job begins anew, whatever an earlier one has waited. */
static void test_a_wait_is_its_jobs(void **state)
{
    struct bridge b = { .o = { .wait_us = 20000 } };
    struct gang *g = bridgegang_find(&b, "pod/x");
    int64_t begun = now_mono_us();

    (void)state;
    assert_non_null(g);
    g->job_id = 1;
    assert_false(bridgegang_is_overdue(g, BRIDGEWAIT_VOLUMES));
    while (!bridgegang_is_overdue(g, BRIDGEWAIT_VOLUMES))
        assert_true(now_mono_us() - begun < 60 * USEC_PER_SEC);
    assert_true(now_mono_us() - begun > b.o.wait_us);
    assert_false(bridgegang_is_overdue(g, BRIDGEWAIT_DEVICES));
    g->job_id = 2;
    b.o.wait_us = INT64_C(3600) * USEC_PER_SEC;
    assert_false(bridgegang_is_overdue(g, BRIDGEWAIT_VOLUMES));
    b.o.wait_us = -1; /* any wait is too long, one that begins too */
    assert_true(bridgegang_is_overdue(g, BRIDGEWAIT_VOLUMES));
    bridgegang_end_wait(g, BRIDGEWAIT_VOLUMES);
    b.o.wait_us = INT64_C(3600) * USEC_PER_SEC;
    assert_false(bridgegang_is_overdue(g, BRIDGEWAIT_VOLUMES));
    kubemap_done(&b.gangs, bridgegang_free);
}

static void test_seconds(void **state)
{
    static const struct {
        const char *said;
        int64_t want; /* -1: refused */
    } cases[] = { { "", 0 },
                  { "waitSeconds: 1", 1 },
                  { "waitSeconds: 86400", 86400 },
                  { "waitSeconds:", 0 },
                  { "waitSeconds: 0", -1 },
                  { "waitSeconds: 86401", -1 },
                  { "waitSeconds: -5", -1 },
                  { "waitSeconds: ten", -1 },
                  { "waitSeconds: 1.5", -1 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bridgeconf c = { 0 };
        struct err err = { .text = "" };
        char text[100];
        int r;

        (void)snprintf(text, sizeof(text), "partition: p\n%s\n", cases[i].said);
        r = bridgeconf_parse(text, strlen(text), &c, &err);
        assert_int_equal(r < 0 ? -1 : c.wait_s, cases[i].want);
        if (r < 0)
            assert_string_equal(err.text, "waitSeconds is no number of 1 to 86400");
        bridgeconf_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wait_is_its_jobs),
        cmocka_unit_test(test_seconds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
