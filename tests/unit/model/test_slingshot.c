/* test_slingshot.c - SwitchParameters and --network of switch/hpe_slingshot */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/words/slingshot.h"

static void test_defaults(void **state)
{
    struct slingshot s;

    (void)state;
    assert_int_equal(slingshot_read(NULL, NULL, &s, NULL), 0);
    assert_int_equal(s.vni_first, 1024);
    assert_int_equal(s.vni_last, 65535);
    assert_int_equal(s.tcs, SLINGSHOT_LOW_LATENCY | SLINGSHOT_BEST_EFFORT);
    assert_int_equal(s.destroy_retries, 5);
    assert_true(s.adjust);
    assert_int_equal(slingshot_reserved(&s, SLINGSHOT_LES, 4), 64);
    assert_int_equal(slingshot_reserved(&s, SLINGSHOT_TGQS, 1000), 512); /* at most */
}

/* How many VNIs a step on so many nodes has. */
static void test_vnis(void **state)
{
    static const struct {
        const char *params, *network;
        uint32_t one, two;
    } cases[] = {
        { NULL, NULL, 0, 1 },
        { "", "", 0, 1 },
        { "single_node_vni", NULL, 1, 1 },
        { "Single_Node_VNI=all,job_vni=ALL", NULL, 2, 2 },
        { "job_vni", NULL, 0, 2 },
        { "job_vni=user,single_node_vni=user", NULL, 0, 1 },
        { "job_vni=user,single_node_vni=user", "job_vni,single_node_vni", 2, 2 },
        { NULL, "single_node_vni", 1, 1 },
        { "job_vni=all", "no_vni", 0, 0 },
        { "job_vni=none", NULL, 0, 1 },
        { "fm_url=https://fm,imex_channel_count=3", ",,job_vni", 0, 2 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        struct slingshot s;

        if (slingshot_read(cases[i].params, cases[i].network, &s, &err) < 0)
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(slingshot_vnis(&s, 1), cases[i].one);
        assert_int_equal(slingshot_vnis(&s, 2), cases[i].two);
    }
}

static void test_limits(void **state)
{
    struct slingshot s;

    (void)state;
    assert_int_equal(slingshot_read("def_txqs=3,res_eqs=9,max_cts=5,no_adjust_limits,"
                                    "tcs=bulk_data:DEDICATED_ACCESS,destroy_retries=0,vnis=7-9",
                                    "depth=2,max_cts=9,max_les=3,adjust_limits", &s, NULL),
                     0);
    assert_int_equal(slingshot_reserved(&s, SLINGSHOT_TXQS, 64), 6);
    assert_int_equal(slingshot_reserved(&s, SLINGSHOT_EQS, 64), 9);
    assert_int_equal(slingshot_reserved(&s, SLINGSHOT_CTS, 64), 2);
    assert_int_equal(s.limits[SLINGSHOT_CTS].max, 5); /* a user does not raise it */
    assert_int_equal(slingshot_reserved(&s, SLINGSHOT_LES, 64), 3);
    assert_int_equal(s.tcs, SLINGSHOT_BULK_DATA | SLINGSHOT_DEDICATED_ACCESS);
    assert_int_equal(s.vni_first, 7);
    assert_int_equal(s.vni_last, 9);
    assert_int_equal(s.destroy_retries, 0);
    assert_true(s.adjust);
}

static void test_refused(void **state)
{
    static const struct {
        const char *params, *network, *word;
    } cases[] = {
        { "vnis=", NULL, "vnis=" },
        { "vnis=0-5", NULL, "vnis=0-5" },
        { "vnis=5-4", NULL, "vnis=5-4" },
        { "vnis=1-65536", NULL, "vnis=1-65536" },
        { "vnis=1-2x", NULL, "vnis=1-2x" },
        { "job_vni=some", NULL, "all, user or none" },
        { "tcs", NULL, "tcs" },
        { "tcs=BULK_DATA:", NULL, NULL }, /* nothing behind the colon is no class */
        { "tcs=BULK_DATA::LOW_LATENCY", NULL, "no traffic class" },
        { "max_les=65536", NULL, "max_les" },
        { "destroy_retries=-1", NULL, "destroy_retries" },
        { NULL, "fast", "\"fast\"" },
        { NULL, "job_vni=all", "job_vni=all" },
        { NULL, "vnis=1-2", "vnis=1-2" },
        { NULL, "depth=1025", "depth=1025" },
        { NULL, "def_txq=1", "def_txq=1" },
        { NULL, "disable_rdzv_get", "disable_rdzv_get" },
        { "single_node_vni=none", "single_node_vni", "switched off" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        struct slingshot s = { .vni_first = 77 };
        int r = slingshot_read(cases[i].params, cases[i].network, &s, &err);

        assert_int_equal(r < 0, cases[i].word != NULL);
        if (cases[i].word && (!strstr(err.text, cases[i].word) || s.vni_first != 77))
            fail_msg("%zu: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_vnis),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
