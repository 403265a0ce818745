/* test_stepends.c - steps end: on one node after the other, with their job, at their limit */
#include "stepcore_util.h"

#include <signal.h>

#include "base/process/oomstatus.h"
#include "ctld/core/service.h"
#include "ctld/job/jobfacts.h"

#define EXIT(code) ((uint32_t)(code) << 8) /* as wait(2) has it */
#define STEP(state) PST__STEP_STATE__STEP_##state

static void ends(struct job *j, uint32_t step, uint32_t node, uint32_t status)
{
    Pst__StepEnd end = PST__STEP_END__INIT;

    SET(&end, exit_status, status);
    assert_true(steps_ended(&core.ctld, j, cluster_step(j, step), node, &end));
}

/* What the tasks of two nodes end with, and what the step is then: exit codes are worse than
 * signals, the higher the worse, and nothing is worse than the want of memory. */
static const struct {
    uint32_t first, second;
    Pst__StepState state;
    uint32_t status;
} rows[] = {
    { 0, 0, STEP(COMPLETED), 0 },
    { EXIT(1), 0, STEP(FAILED), EXIT(1) },
    { 0, EXIT(3), STEP(FAILED), EXIT(3) },
    { EXIT(2), EXIT(7), STEP(FAILED), EXIT(7) },
    { SIGKILL, 0, STEP(CANCELLED), SIGKILL },
    { SIGTERM, SIGKILL, STEP(CANCELLED), SIGTERM },
    { SIGKILL, EXIT(1), STEP(FAILED), EXIT(1) },
    { STATUS_OOM, EXIT(9), STEP(OUT_OF_MEMORY), STATUS_OOM },
    { EXIT(9), STATUS_OOM, STEP(OUT_OF_MEMORY), STATUS_OOM },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct job *j;

        stepcore_begin("", 2);
        j = stepcore_job(7, 2, NULL);
        (void)stepcore_step(j, 0, 2, 1);
        ends(j, 0, 0, rows[i].first);
        assert_int_equal(stepcore_record(j, 0)->state, STEP(RUNNING)); /* there is n1 */
        assert_false(stepcore_record(j, 0)->has_end_us);
        ends(j, 0, 1, rows[i].second);
        if (stepcore_record(j, 0)->state != rows[i].state ||
            stepcore_record(j, 0)->exit_status != rows[i].status)
            fail_msg("row %zu: state %d, status %u", i, (int)stepcore_record(j, 0)->state,
                     stepcore_record(j, 0)->exit_status);
        assert_true(stepcore_record(j, 0)->has_end_us);
        assert_int_equal(j->rec->derived_exit_status, rows[i].status);
        coreask_end(&core);
    }
}

/* A node that says it again, and one that has nothing of the step, change nothing. */
static void test_said_before(void **state)
{
    uint64_t lsn;
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    j = stepcore_job(7, 3, NULL);
    (void)stepcore_step(j, 0, 2, 1);
    ends(j, 0, 0, 0);
    lsn = core.ctld.applied_lsn;
    ends(j, 0, 0, EXIT(1));
    ends(j, 0, 2, EXIT(1));
    assert_int_equal(core.ctld.applied_lsn, lsn);
    assert_int_equal(stepcore_record(j, 0)->state, STEP(RUNNING));
    ends(j, 0, 1, 0);
    lsn = core.ctld.applied_lsn;
    ends(j, 0, 1, EXIT(1)); /* it is over */
    assert_int_equal(core.ctld.applied_lsn, lsn);
    assert_int_equal(stepcore_record(j, 0)->exit_status, 0);
    coreask_end(&core);
}

/* DerivedExitCode is the highest of the steps of srun; the script's is the job's own. */
static void test_derived(void **state)
{
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, NULL);
    for (uint32_t i = 0; i < 3; i++)
        (void)stepcore_step(j, i, 1, 1);
    (void)stepcore_step(j, STEP_BATCH, 1, 1);
    (void)stepcore_step(j, STEP_EXTERN, 1, 1);
    ends(j, 0, 0, EXIT(3));
    ends(j, 1, 0, EXIT(5));
    ends(j, 2, 0, EXIT(4));
    ends(j, STEP_EXTERN, 0, EXIT(8));
    ends(j, STEP_BATCH, 0, EXIT(9));
    assert_int_equal(j->rec->derived_exit_status, EXIT(5));
    coreask_end(&core);
}

/* The node's clock says when; not before the start, and not after now. */
static void test_end_time(void **state)
{
    static const int64_t hour = 3600 * SEC;
    const int64_t said[] = { T0 - hour, T0 + hour, INT64_MAX };
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, NULL);
    for (uint32_t i = 0; i < ARRAY_SIZE(said); i++) {
        Pst__StepEnd end = PST__STEP_END__INIT;

        (void)stepcore_step(j, i, 1, 1);
        SET(&end, end_us, said[i]);
        (void)steps_ended(&core.ctld, j, cluster_step(j, i), 0, &end);
    }
    assert_true(stepcore_record(j, 0)->end_us == T0);
    assert_true(stepcore_record(j, 1)->end_us == T0 + hour);
    assert_true(stepcore_record(j, 2)->end_us <= now_us());
    assert_true(stepcore_record(j, 2)->end_us > T0 + hour);
    coreask_end(&core);
}

/* What the nodes used is added up. */
static void test_usage(void **state)
{
    struct job *j;

    (void)state;
    stepcore_begin("", 2);
    j = stepcore_job(7, 2, NULL);
    (void)stepcore_step(j, 0, 2, 1);
    for (uint32_t i = 0; i < 2; i++) {
        Pst__StepEnd end = PST__STEP_END__INIT;
        Pst__StepUsage use = PST__STEP_USAGE__INIT;

        SET(&use, user_us, 5 * SEC + i);
        end.usage = &use;
        (void)steps_ended(&core.ctld, j, cluster_step(j, 0), i, &end);
    }
    assert_int_equal(stepcore_record(j, 0)->usage->user_us, 10 * SEC + 1);
    coreask_end(&core);
}

/* A step that was launched nowhere is over on all its nodes; other steps go on. */
static void test_unlaunched(void **state)
{
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    j = stepcore_job(7, 3, NULL);
    (void)stepcore_step(j, 0, 3, 1);
    (void)stepcore_step(j, 1, 3, 1);
    assert_true(steps_unlaunched(&core.ctld, j, 0, EXIT(1)));
    assert_int_equal(stepcore_record(j, 0)->state, STEP(FAILED));
    assert_int_equal(stepcore_record(j, 1)->state, STEP(RUNNING));
    assert_true(steps_unlaunched(&core.ctld, j, 9, EXIT(1))); /* there is none */
    coreask_end(&core);
}

/* The job's end closes what still runs or waits; what a node said of a step before stays. */
static void test_with_job(void **state)
{
    Pst__Transaction *tx;
    struct job *j;

    (void)state;
    stepcore_begin("", 2);
    j = stepcore_job(7, 2, NULL);
    (void)stepcore_step(j, 0, 2, 1);
    (void)stepcore_step(j, 1, 2, 1);
    (void)stepcore_step(j, 2, 2, 1);
    (void)stepcore_step(j, STEP_EXTERN, 2, 1);
    ends(j, 1, 0, EXIT(4)); /* n1 goes on with it */
    ends(j, 2, 0, 0);
    ends(j, 2, 1, 0);
    tx = tx_new(T0);
    SET(tx_step_patch(tx, EV(UNSPECIFIED), 7, 0), state, STEP(PENDING));
    apply_ok(core.ctld.cluster, tx);
    (void)stepcore_step(j, 3, 2, 1);
    tx = tx_new(T0);
    services_job_closing(&core.ctld, tx, j, SIGKILL);
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(stepcore_record(j, 0)->state, STEP(CANCELLED));
    assert_int_equal(stepcore_record(j, 1)->state, STEP(FAILED));
    assert_int_equal(stepcore_record(j, 1)->exit_status, EXIT(4));
    assert_int_equal(stepcore_record(j, 2)->state, STEP(COMPLETED));
    assert_int_equal(stepcore_record(j, 3)->state, STEP(CANCELLED));
    assert_int_equal(stepcore_record(j, 3)->exit_status, SIGKILL);
    assert_int_equal(stepcore_record(j, STEP_EXTERN)->state, STEP(COMPLETED));
    coreask_end(&core);
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* Steps are looked at as if so much time had gone by since their start. */
static void pass_time(int64_t after_us)
{
    stepends_service.tick_writing(&core.ctld, T0 + after_us);
    coreask_settle(&core);
}

static Pst__SignalSteps *next_signal(const struct conn *node)
{
    return (Pst__SignalSteps *)coreask_take(node, OP_SIGNAL_STEPS).msg;
}

/* At its limit a step gets CONT and TERM, and KillWait later KILL, from its nodes. */
static void test_time_limit(void **state)
{
    Pst__SignalSteps *sig;
    Pst__Transaction *tx;
    struct conn *n0;
    struct job *j;

    (void)state;
    stepcore_begin("KillWait=17\n", 1);
    n0 = coreask_link(&core, 0);
    j = stepcore_job(7, 1, NULL);
    (void)stepcore_step(j, 0, 1, 1);
    (void)stepcore_step(j, 1, 1, 1); /* without a limit */
    tx = tx_new(T0);
    SET(tx_step_patch(tx, EV(UNSPECIFIED), 7, 0), time_limit_min, 2);
    apply_ok(core.ctld.cluster, tx);
    cluster_step(j, 0)->asked = cluster_step(j, 1)->asked = true;
    pass_time(120 * SEC - 1);
    assert_null(next_signal(n0));
    pass_time(120 * SEC);
    sig = next_signal(n0);
    assert_non_null(sig);
    assert_int_equal(sig->job_id, 7);
    assert_int_equal(sig->n_step_ids, 1);
    assert_int_equal(sig->step_ids[0], 0);
    assert_true(sig->terminate);
    assert_int_equal(sig->kill_wait_s, 17);
    assert_string_equal(sig->reason, "DUE TO TIME LIMIT");
    pst__signal_steps__free_unpacked(sig, NULL);
    assert_null(next_signal(n0));
    coreask_end(&core);
}

/* srun may have died with its credential in hand: once that is worth nothing, the nodes that have
 * not said the end are asked, once. */
static void test_asks(void **state)
{
    Pst__SignalSteps *sig;
    struct conn *nodes[2];
    struct job *j;

    (void)state;
    stepcore_begin("", 2);
    for (uint32_t i = 0; i < 2; i++)
        nodes[i] = coreask_link(&core, i);
    j = stepcore_job(7, 2, NULL);
    (void)stepcore_step(j, 0, 2, 1);
    (void)stepcore_step(j, STEP_BATCH, 1, 1);  /* the controller launches it: srun has no part */
    (void)stepcore_step(j, STEP_EXTERN, 2, 1); /* likewise */
    ends(j, 0, 0, 0);
    pass_time(110 * SEC); /* credentials are good for two minutes */
    assert_null(next_signal(nodes[1]));
    pass_time(200 * SEC);
    sig = next_signal(nodes[1]);
    assert_non_null(sig);
    assert_true(sig->ask);
    assert_false(sig->has_signal || sig->has_terminate);
    assert_int_equal(sig->step_ids[0], 0);
    pst__signal_steps__free_unpacked(sig, NULL);
    assert_null(next_signal(nodes[1]));
    assert_null(next_signal(nodes[0]));
    pass_time(300 * SEC);
    assert_null(next_signal(nodes[1]));
    coreask_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_said_before),
        cmocka_unit_test(test_derived),  cmocka_unit_test(test_end_time),
        cmocka_unit_test(test_usage),    cmocka_unit_test(test_unlaunched),
        cmocka_unit_test(test_with_job), cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_asks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
