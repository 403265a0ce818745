/* test_makeroom.c - running jobs make room for more important ones */
#include "core_util.h"

#include "ctld/schedlink/makeroom.h"
#include "sched/sched.h"

extern const struct ctld_service hooks_service;

static struct core core;

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "", &hooks_service);
    core_nodes(&core, 2, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

/* A job that runs on n0. */
static struct job *running(uint32_t id, bool requeue)
{
    struct job *j = core_job(&core, id, NULL);
    Pst__Transaction *tx;
    Pst__JobRecord *set = core_start(id, 1, &tx);

    SET(set, batch, true);
    SET(set, requeue, requeue);
    apply_ok(core.ctld.cluster, tx);
    return j;
}

static void grace_of(uint32_t seconds)
{
    Pst__Transaction *tx = tx_new(T0);

    SET(tx_part_patch(tx, EV(PART_UPDATE), "p"), grace_time_s, seconds);
    apply_ok(core.ctld.cluster, tx);
}

/* Job 10 is to have the place of this victim. */
static void preempt(uint32_t victim, enum sched_preempt_mode mode)
{
    struct sched_victim v = { .job_id = victim, .mode = mode };
    struct sched_decision d = {
        .kind = SCHED_PREEMPT, .job_id = 10, .partition = "p", .victims = &v, .nvictims = 1
    };

    preempt_decision(&core.ctld, &d);
}

static void test_cancel(void **state)
{
    struct job *j = running(1, true);

    (void)state;
    (void)core_job(&core, 10, NULL);
    preempt(1, SCHED_MODE_CANCEL);
    assert_int_equal(job_state(j->rec), JOB_STATE(PREEMPTED));
    assert_false(job_comes_back(j->rec));
    preempt(1, SCHED_MODE_CANCEL); /* it has gone: nothing is to do */
    preempt(99, SCHED_MODE_CANCEL);
    assert_int_equal(job_state(j->rec), JOB_STATE(PREEMPTED));
}

/* It runs again, where it may. */
static void test_requeue(void **state)
{
    struct job *again = running(1, true), *once = running(2, false);

    (void)state;
    (void)core_job(&core, 10, NULL);
    preempt(1, SCHED_MODE_REQUEUE);
    preempt(2, SCHED_MODE_REQUEUE);
    assert_true(job_is_pending(again->rec) || job_comes_back(again->rec));
    assert_int_equal(job_state(once->rec), JOB_STATE(PREEMPTED));
    assert_false(job_comes_back(once->rec));
}

/* It may go on for GraceTime, and no longer. */
static void test_grace(void **state)
{
    struct job *j = running(1, true);
    int64_t kill_us;

    (void)state;
    grace_of(30);
    (void)core_job(&core, 10, NULL);
    preempt(1, SCHED_MODE_CANCEL);
    assert_true(job_is_running(j->rec));
    kill_us = j->rec->preempt_kill_us;
    assert_true(kill_us == j->rec->preempt_us + 30 * SEC);
    assert_true(j->rec->end_us == kill_us);
    preempt(1, SCHED_MODE_CANCEL); /* the time does not begin anew */
    assert_true(j->rec->preempt_kill_us == kill_us);
    assert_false(preempt_tick(&core.ctld, j, kill_us - 1));
    assert_true(job_is_running(j->rec));
    assert_true(preempt_tick(&core.ctld, j, kill_us));
    assert_int_equal(job_state(j->rec), JOB_STATE(PREEMPTED));
    assert_false(preempt_tick(&core.ctld, j, kill_us));
}

/* Suspended until the job it was suspended for holds nothing any more, or does not come. */
static void test_suspend(void **state)
{
    struct job *j = running(1, true);
    Pst__Transaction *tx;
    int64_t kill_us;

    (void)state;
    (void)core_job(&core, 10, NULL);
    preempt(1, SCHED_MODE_SUSPEND);
    assert_true(job_is_suspended(j->rec));
    assert_int_equal(j->rec->n_preempted_by, 1);
    assert_int_equal(j->rec->preempted_by[0], 10);
    kill_us = j->rec->preempt_kill_us;
    assert_false(preempt_tick(&core.ctld, j, kill_us - 1)); /* job 10 is about to start */
    assert_true(preempt_tick(&core.ctld, j, kill_us));      /* it was given five minutes */
    assert_true(job_is_running(j->rec));
    preempt(1, SCHED_MODE_SUSPEND);
    tx = tx_new(T0);
    tx_job_purge(tx, 10);
    apply_ok(core.ctld.cluster, tx);
    assert_true(preempt_tick(&core.ctld, j, kill_us - 1)); /* it is not there any more */
    assert_true(job_is_running(j->rec));
}

static void held(Pst__JobRecord *r)
{
    SET(r, priority, 0);
}

/* For a job that waits for something else by now nobody has to go. */
static void test_too_late(void **state)
{
    struct job *j = running(1, true);

    (void)state;
    preempt(1, SCHED_MODE_CANCEL); /* there is no job 10 */
    assert_true(job_is_running(j->rec));
    (void)core_job(&core, 10, held);
    preempt(1, SCHED_MODE_CANCEL);
    assert_true(job_is_running(j->rec));
    assert_false(preempt_tick(&core.ctld, j, T0)); /* it was never preempted */
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_cancel), ROW(test_requeue), ROW(test_grace),
                                        ROW(test_suspend), ROW(test_too_late) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
