/* test_expedite.c - which ends begin an expedited requeue, and what becomes of it */
#include "model_util.h"

#include "ctld/job/expedite.h"
#include "ctld/job/lifecycle.h"

static struct conf *conf_with(const char *text)
{
    const struct conf_text file = { .name = "slurm.conf", .text = text, .len = strlen(text) };
    struct conf *conf = NULL;

    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    return conf;
}

#define BASE "ClusterName=t\nSlurmctldHost=h\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=n1\n"

static void test_begins(void **state)
{
    static const struct {
        const char *conf;
        bool asked, requeue, hold, by_exit;
        Pst__JobState end;
        bool begins;
    } cases[] = {
        { "SlurmctldParameters=enable_expedited_requeue\n", true, true, false, false,
          JOB_STATE(NODE_FAIL), true },
        { "SlurmctldParameters=enable_expedited_requeue\n", true, true, false, true,
          JOB_STATE(FAILED), true },
        { "SlurmctldParameters=enable_expedited_requeue\n", true, true, false, false,
          JOB_STATE(FAILED), false }, /* a launch that failed */
        { "SlurmctldParameters=enable_expedited_requeue\n", true, true, false, false,
          JOB_STATE(PREEMPTED), false },
        { "SlurmctldParameters=enable_expedited_requeue\n", true, true, true, false,
          JOB_STATE(NODE_FAIL), false }, /* held */
        { "SlurmctldParameters=enable_expedited_requeue\n", true, false, false, false,
          JOB_STATE(NODE_FAIL), false }, /* for good */
        { "SlurmctldParameters=enable_expedited_requeue\n", false, true, false, false,
          JOB_STATE(NODE_FAIL), false }, /* plain --requeue */
        { "", true, true, false, false, JOB_STATE(NODE_FAIL), false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = NULL;
        struct ctld ctld = { 0 };
        Pst__JobRecord r = PST__JOB_RECORD__INIT;
        struct job_end end = { .state = cases[i].end,
                               .requeue = cases[i].requeue,
                               .requeue_hold = cases[i].hold,
                               .expedite = cases[i].by_exit };

        assert_true(asprintf(&text, BASE "%s", cases[i].conf) > 0);
        ctld.conf = conf_with(text);
        SET(&r, expedited, cases[i].asked);
        assert_int_equal(expedite_begins(&ctld, &r, &end), cases[i].begins);
        assert_int_equal(expedite_is_asked(&ctld, &r), cases[i].asked && *cases[i].conf);
        conf_free(ctld.conf);
    }
}

static void test_outcome(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, state_flags, JOB_FLAG(COMPLETING) | JOB_FLAG(REQUEUED));
    SET(&r, hardware_failed, true);
    assert_false(expedite_goes_on(&r)); /* no expedited requeue is under way */
    assert_false(expedite_is_over(&r));
    r.state_flags |= JOB_FLAG(EXPEDITING);
    assert_true(expedite_goes_on(&r));
    assert_false(expedite_is_over(&r));
    r.hardware_failed = false;
    assert_false(expedite_goes_on(&r));
    assert_true(expedite_is_over(&r));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins),
        cmocka_unit_test(test_outcome),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
