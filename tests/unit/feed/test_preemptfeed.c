/* test_preemptfeed.c - PreemptType, PreemptMode and PreemptParameters as the scheduler takes
 * them */
#include "conf_util.h"

#include "feed/preemptfeed.h"

static void test_modes(void **state)
{
    static const struct {
        const char *text;
        enum sched_preempt_mode mode;
    } rows[] = {
        { NULL, SCHED_MODE_DEFAULT },
        { "", SCHED_MODE_DEFAULT },
        { "OFF", SCHED_MODE_OFF },
        { "GANG", SCHED_MODE_OFF },
        { "cancel", SCHED_MODE_CANCEL },
        { "REQUEUE", SCHED_MODE_REQUEUE },
        { "GANG,SUSPEND", SCHED_MODE_SUSPEND },
        { "suspend,gang", SCHED_MODE_SUSPEND },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(preempt_mode_of(rows[i].text), rows[i].mode);
}

static void test_types(void **state)
{
    static const struct {
        const char *lines;
        enum sched_preempt_type type;
        enum sched_preempt_mode mode;
    } rows[] = {
        { "", SCHED_PREEMPT_NONE, SCHED_MODE_OFF },
        { "PreemptType=preempt/none\n", SCHED_PREEMPT_NONE, SCHED_MODE_OFF },
        { "PreemptType=preempt/qos\nPreemptMode=CANCEL\n", SCHED_PREEMPT_QOS, SCHED_MODE_CANCEL },
        { "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n", SCHED_PREEMPT_PART,
          SCHED_MODE_REQUEUE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct conf *conf = conf_with_lines(rows[i].lines);
        struct sched_preempt p;

        preempt_fill_params(conf, &p);
        assert_int_equal(p.type, rows[i].type);
        assert_int_equal(p.mode, rows[i].mode);
        assert_int_equal(preempt_wanted(conf), rows[i].type != SCHED_PREEMPT_NONE);
        assert_int_equal(preempt_by_qos(conf), rows[i].type == SCHED_PREEMPT_QOS);
        assert_false(p.has_min_exempt_priority);
        assert_int_equal(p.reorder_count, 1);
        conf_free(conf);
    }
}

static void test_parameters(void **state)
{
    struct conf *conf = conf_with_lines(
        "PreemptType=preempt/qos\nPreemptMode=CANCEL\nPreemptExemptTime=00:02:00\n"
        "PreemptParameters=youngest_first,reorder_count=3,min_exempt_priority=77\n");
    struct sched_preempt p;

    (void)state;
    preempt_fill_params(conf, &p);
    assert_int_equal(p.exempt_s, 120);
    assert_true(p.youngest_first);
    assert_false(p.strict_order || p.reclaim_licenses || p.within || p.by_priority);
    assert_int_equal(p.reorder_count, 3);
    assert_true(p.has_min_exempt_priority);
    assert_int_equal(p.min_exempt_priority, 77);
    assert_int_equal(preempt_exempt_us(conf), INT64_C(120000000));
    assert_int_equal(preempt_slice_us(conf), 0); /* no GANG: they run beside each other */
    conf_free(conf);
}

/* A partition's own mode comes first; the cluster's is told with GANG, and OFF is nothing. */
static void test_text(void **state)
{
    struct conf *off = conf_with_lines("");
    struct conf *gang = conf_with_lines("PreemptMode=GANG,SUSPEND\nSchedulerTimeSlice=20\n"
                                        "PreemptType=preempt/partition_prio\n");

    (void)state;
    assert_null(preempt_mode_text(off, NULL));
    assert_null(preempt_mode_text(off, ""));
    assert_string_equal(preempt_mode_text(off, "REQUEUE"), "REQUEUE");
    assert_string_equal(preempt_mode_text(gang, NULL), "GANG,SUSPEND");
    assert_string_equal(preempt_mode_text(gang, "OFF"), "OFF");
    assert_int_equal(preempt_slice_us(gang), INT64_C(20000000));
    assert_int_equal(preempt_exempt_us(off), 0);
    conf_free(off);
    conf_free(gang);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_modes), cmocka_unit_test(test_types),
                                        cmocka_unit_test(test_parameters),
                                        cmocka_unit_test(test_text) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
