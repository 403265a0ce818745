/* test_launchfail.c - batch jobs that could not be started on their nodes */
#include "core_util.h"

#include "ctld/job/launchfail.h"

extern const struct ctld_service hooks_service;

static struct core core;

static void begin(const char *lines)
{
    core_begin(&core, lines, &hooks_service);
    core_nodes(&core, 1, 4);
}

static void end(void)
{
    core_end(&core);
}

/* A batch job that runs on n0. */
static struct job *running(uint32_t id, bool requeue, uint32_t failures)
{
    struct job *j = core_job(&core, id, NULL);
    Pst__Transaction *tx;
    Pst__JobRecord *set = core_start(id, 1, &tx);

    SET(set, batch, true);
    SET(set, requeue, requeue);
    SET(set, batch_failures, failures);
    assert_int_equal(pb_set_str(&set->batch_host, "n0"), 0);
    apply_ok(core.ctld.cluster, tx);
    return j;
}

static Pst__StepEnd report_of(bool login)
{
    Pst__StepEnd e = PST__STEP_END__INIT;

    e.has_node_clean = e.node_clean = true;
    e.has_login_env_failed = e.login_env_failed = login;
    return e;
}

/* It goes back to the queue and is held, for somebody has to look at the node. */
static void test_held(void **state)
{
    const Pst__StepEnd e = report_of(false), login = report_of(true);
    struct job *j;

    (void)state;
    begin("");
    j = running(1, true, 0);
    launchfail_report(&core.ctld, j, &e);
    assert_true(job_is_pending(j->rec));
    assert_true(job_is_held(j->rec));
    assert_int_equal(j->rec->reason, PST__JOB_REASON__REASON_LAUNCH_FAILED_REQUEUED_HELD);
    assert_int_equal(j->rec->batch_failures, 1);
    j = running(2, true, 0);
    launchfail_report(&core.ctld, j, &login);
    assert_true(job_is_held(j->rec));
    assert_int_equal(j->rec->reason, PST__JOB_REASON__REASON_USER_ENV_REQUEUED_HELD);
    end();
}

/* nohold_on_prolog_fail: it is tried again, but not for ever (MaxBatchRequeue). */
static void test_again(void **state)
{
    const Pst__StepEnd e = report_of(false);
    struct job *j;

    (void)state;
    begin("SchedulerParameters=nohold_on_prolog_fail\nMaxBatchRequeue=3\n");
    j = running(1, true, 2);
    launchfail_report(&core.ctld, j, &e);
    assert_true(job_is_pending(j->rec));
    assert_false(job_is_held(j->rec));
    assert_int_equal(j->rec->batch_failures, 3);
    j = running(2, true, 3);
    launchfail_report(&core.ctld, j, &e);
    assert_true(job_is_held(j->rec));
    assert_int_equal(j->rec->reason, PST__JOB_REASON__REASON_JOB_HOLD_MAX_REQUEUE);
    end();
}

/* One that may not be requeued has failed, unless PrologFlags=ForceRequeueOnFail. */
static void test_no_requeue(void **state)
{
    const Pst__StepEnd e = report_of(false);
    struct job *j;

    (void)state;
    begin("");
    j = running(1, false, 0);
    launchfail_report(&core.ctld, j, &e);
    assert_int_equal(job_state(j->rec), JOB_STATE(FAILED));
    assert_int_equal(j->rec->reason, PST__JOB_REASON__REASON_LAUNCH_FAILURE);
    end();
    begin("PrologFlags=ForceRequeueOnFail\n");
    j = running(1, false, 0);
    launchfail_report(&core.ctld, j, &e);
    assert_true(job_is_pending(j->rec));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_held), cmocka_unit_test(test_again),
                                        cmocka_unit_test(test_no_requeue) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
