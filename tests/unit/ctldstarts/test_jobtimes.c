/* test_jobtimes.c - what time does to jobs: deadlines, and records of jobs that ended long ago */
#include "core_util.h"

extern const struct ctld_service jobtimes_service;

#define MINUTE (60 * SEC)

static struct core core;

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "MinJobAge=300\n", &jobtimes_service);
    core_nodes(&core, 1, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void half_an_hour(Pst__JobRecord *r)
{
    SET(r, deadline_us, T0 + 60 * MINUTE);
    SET(r, time_limit_min, 30);
}

static void ten_will_do(Pst__JobRecord *r)
{
    half_an_hour(r);
    SET(r, time_min_min, 10);
}

static void begins_late(Pst__JobRecord *r)
{
    half_an_hour(r);
    SET(r, begin_us, T0 + 31 * MINUTE);
}

static struct job *noted(uint32_t id, void (*with)(Pst__JobRecord *r))
{
    struct job *j = core_job(&core, id, with);

    jobtimes_service.on_job(&core.ctld, j, EV(JOB_SUBMIT));
    return j;
}

static Pst__JobState state_at(uint32_t id, int64_t minutes)
{
    jobtimes_service.tick_slow(&core.ctld, T0 + minutes * MINUTE);
    return job_state(cluster_job(core.ctld.cluster, id)->rec);
}

/* A job that cannot end before its deadline leaves the queue. */
static void test_deadline(void **state)
{
    (void)state;
    noted(1, half_an_hour);
    noted(2, ten_will_do);
    noted(3, NULL);
    assert_int_equal(state_at(1, 30), JOB_STATE(PENDING));
    assert_int_equal(state_at(1, 31), JOB_STATE(DEADLINE));
    assert_int_equal(cluster_job(core.ctld.cluster, 1)->rec->exit_status, 1 << 8);
    assert_int_equal(state_at(2, 50), JOB_STATE(PENDING));
    assert_int_equal(state_at(2, 51), JOB_STATE(DEADLINE));
    assert_int_equal(state_at(3, 99999), JOB_STATE(PENDING));
    noted(4, begins_late); /* too late from the first */
    assert_int_equal(state_at(4, 0), JOB_STATE(DEADLINE));
}

/* Only jobs that wait have one. */
static void test_started(void **state)
{
    struct job *j = noted(1, half_an_hour);

    (void)state;
    SET(j->rec, state, JOB_STATE(RUNNING));
    jobtimes_service.on_job(&core.ctld, j, EV(JOB_START));
    SET(j->rec, state, JOB_STATE(PENDING)); /* it was taken off, whatever it says now */
    assert_int_equal(state_at(1, 100), JOB_STATE(PENDING));
    jobtimes_service.on_job(&core.ctld, j, EV(JOB_UPDATE));
    jobtimes_service.on_job_gone(&core.ctld, j);
    assert_int_equal(state_at(1, 100), JOB_STATE(PENDING));
}

/* ---- old records ----------------------------------------------------------------------------- */

static void ended_at(uint32_t id, int64_t minutes)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_END), id);

    SET(set, state, JOB_STATE(COMPLETED));
    SET(set, end_us, T0 + minutes * MINUTE);
    apply_ok(core.ctld.cluster, tx);
}

/* Is the record there after a run of the sweep? */
static bool there_at(uint32_t id, int64_t minutes)
{
    jobtimes_service.tick_writing(&core.ctld, T0 + minutes * MINUTE);
    return cluster_job(core.ctld.cluster, id) != NULL;
}

/* Records go MinJobAge after the end of their jobs, in sweeps a minute apart. */
static void test_purge(void **state)
{
    (void)state;
    for (uint32_t id = 1; id <= 3; id++)
        core_job(&core, id, NULL);
    ended_at(1, 10);
    ended_at(2, 12);
    assert_true(there_at(1, 15));
    assert_false(there_at(1, 16));
    assert_true(there_at(2, 16));
    assert_true(there_at(2, 17)); /* not more than five minutes */
    assert_false(there_at(2, 18));
    assert_true(there_at(3, 99999)); /* it has not ended */
}

/* More than a run forgets are forgotten by the next runs, not by the next sweep. */
static void test_many(void **state)
{
    const uint32_t many = 4500;

    (void)state;
    for (uint32_t id = 1; id <= many; id++) {
        core_job(&core, id, NULL);
        ended_at(id, 1);
    }
    jobtimes_service.tick_writing(&core.ctld, T0 + 100 * MINUTE);
    assert_true(core.ctld.cluster->jobs.count > 0);
    assert_true(core.ctld.cluster->jobs.count < many);
    jobtimes_service.tick_writing(&core.ctld, T0 + 100 * MINUTE + SEC);
    jobtimes_service.tick_writing(&core.ctld, T0 + 100 * MINUTE + 2 * SEC);
    assert_int_equal(core.ctld.cluster->jobs.count, 0);
}

static uint32_t leader;

static void with_group(Pst__JobRecord *r)
{
    SET(r, het_job_id, leader);
    SET(r, het_count, 2);
    SET(r, het_offset, r->job_id - leader);
}

/* However many records stay - here components of jobs that wait - those behind them go. */
static void test_behind(void **state)
{
    const uint32_t groups = 20001, last = 2 * groups + 2;

    (void)state;
    for (leader = 2; leader < last; leader += 2) {
        core_job(&core, leader, with_group);
        core_job(&core, leader + 1, with_group);
        ended_at(leader + 1, 1);
    }
    core_job(&core, last, NULL);
    ended_at(last, 2);
    assert_true(there_at(last, 100)); /* a run looks at so many */
    assert_false(there_at(last, 100));
    assert_int_equal(core.ctld.cluster->jobs.count, 2 * groups);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_deadline), ROW(test_started), ROW(test_purge),
                                        ROW(test_many), ROW(test_behind) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
