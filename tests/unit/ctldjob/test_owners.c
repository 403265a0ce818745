/* test_owners.c - the clients that own allocations: what becomes of jobs when they are gone */
#include "core_util.h"

#include "ctld/job/owners.h"

extern const struct ctld_service owners_service;

#define CONN 17u

static void batch(Pst__JobRecord *r)
{
    SET(r, batch, true);
}

static struct core core;

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "MessageTimeout=10\n", &owners_service);
    core_nodes(&core, 1, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

static Pst__JobState state_of(uint32_t id)
{
    return job_state(cluster_job(core.ctld.cluster, id)->rec);
}

/* So many seconds after now. */
static void check(int64_t seconds)
{
    owners_check_pending(&core.ctld, core_now() + seconds * SEC);
}

/* A pending job whose client is gone for MessageTimeout is cancelled. */
static void test_pending(void **state)
{
    struct job *j = core_job(&core, 1, NULL);

    (void)state;
    owners_attach(&core.ctld, j, CONN);
    check(100);
    assert_int_equal(state_of(1), JOB_STATE(PENDING)); /* it is there */
    owners_detach(&core.ctld, j, CONN + 1);
    check(100);
    assert_int_equal(state_of(1), JOB_STATE(PENDING)); /* that was another's connection */
    owners_detach(&core.ctld, j, CONN);
    check(5);
    assert_int_equal(state_of(1), JOB_STATE(PENDING)); /* it may come back */
    owners_attach(&core.ctld, j, CONN + 1);
    check(100);
    assert_int_equal(state_of(1), JOB_STATE(PENDING)); /* and does */
    owners_detach(&core.ctld, j, CONN + 1);
    check(11);
    assert_int_equal(state_of(1), JOB_STATE(CANCELLED));
}

/* After a start of the controller clients have as long to come back.  Nobody waits for batch
 * jobs. */
static void test_recovered(void **state)
{
    (void)state;
    owners_recover(&core.ctld, core_job(&core, 1, NULL));
    owners_recover(&core.ctld, core_job(&core, 2, batch));
    check(5);
    assert_int_equal(state_of(1), JOB_STATE(PENDING));
    check(11);
    assert_int_equal(state_of(1), JOB_STATE(CANCELLED));
    assert_int_equal(state_of(2), JOB_STATE(PENDING));
}

/* Many at once go in several walks. */
static void test_many(void **state)
{
    uint32_t left = 0;

    (void)state;
    for (uint32_t id = 1; id <= 100; id++)
        owners_recover(&core.ctld, core_job(&core, id, NULL));
    check(11);
    for (uint32_t id = 1; id <= 100; id++)
        left += state_of(id) == JOB_STATE(PENDING);
    assert_true(left < 100);
    check(11);
    check(11);
    for (uint32_t id = 1; id <= 100; id++)
        assert_int_equal(state_of(id), JOB_STATE(CANCELLED));
}

static void test_forgotten(void **state)
{
    struct job *j = core_job(&core, 1, NULL);

    (void)state;
    owners_recover(&core.ctld, j);
    owners_forget(&core.ctld, j);
    owners_forget(&core.ctld, j); /* twice is once */
    check(100);
    assert_int_equal(state_of(1), JOB_STATE(PENDING));
    assert_null(owners_free(NULL));
}

/* A job that was wanted at once has failed; the client of another has cancelled it. */
static void test_given_up(void **state)
{
    struct job *now = core_job(&core, 1, NULL), *other = core_job(&core, 2, NULL);

    (void)state;
    owners_service.job_given_up(&core.ctld, now, true);
    owners_service.job_given_up(&core.ctld, other, false);
    assert_int_equal(state_of(1), JOB_STATE(FAILED));
    assert_int_equal(cluster_job(core.ctld.cluster, 1)->rec->exit_status, 1 << 8);
    assert_int_equal(state_of(2), JOB_STATE(CANCELLED));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_pending), ROW(test_recovered), ROW(test_many),
                                        ROW(test_forgotten), ROW(test_given_up) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
