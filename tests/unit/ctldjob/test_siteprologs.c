/* test_siteprologs.c - what follows the end of PrologSlurmctld and EpilogSlurmctld of a job */
#include "core_util.h"

#include "ctld/notify/hooks.h"

extern const struct ctld_service siteprologs_service, hooks_service;

static struct core core;

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "", &hooks_service);
    core_nodes(&core, 1, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

/* A job that waits for its PrologSlurmctld. */
static struct job *waiting(uint32_t id, bool batch)
{
    struct job *j = core_job(&core, id, NULL);
    Pst__Transaction *tx;
    Pst__JobRecord *set = core_start(id, 1, &tx);

    SET(set, state_flags, JOB_FLAG(CONFIGURING));
    SET(set, prolog_pending, true);
    SET(set, batch, batch);
    SET(set, requeue, true);
    apply_ok(core.ctld.cluster, tx);
    return j;
}

/* It did well: the allocation is the user's. */
static void test_well(void **state)
{
    struct job *j = waiting(1, false);

    (void)state;
    siteprologs_service.site_prolog_over(&core.ctld, j, true);
    assert_true(job_is_running(j->rec));
    assert_false(job_has_flag(j->rec, JOB_FLAG(CONFIGURING)));
    assert_false(job_waits_for_prolog(j->rec));
}

/* It failed: a batch job runs again, and nobody waits for a shell on such nodes. */
static void test_failed(void **state)
{
    struct job *batch = waiting(1, true), *shell = waiting(2, false);

    (void)state;
    siteprologs_service.site_prolog_over(&core.ctld, batch, false);
    assert_true(job_is_pending(batch->rec) || job_comes_back(batch->rec));
    assert_int_equal(batch->rec->batch_failures, 1);
    siteprologs_service.site_prolog_over(&core.ctld, shell, false);
    assert_int_equal(job_state(shell->rec), JOB_STATE(CANCELLED));
    assert_false(job_comes_back(shell->rec));
}

/* A job that ended is released when its epilog is over, however that ended. */
static void test_epilog(void **state)
{
    struct job *j = waiting(1, false);
    Pst__Transaction *tx = tx_new(T0 + SEC);
    Pst__JobRecord *set = tx_job_patch(tx, EV(JOB_END), 1);

    (void)state;
    SET(set, state, JOB_STATE(COMPLETED));
    SET(set, state_flags, JOB_FLAG(COMPLETING));
    SET(set, end_us, T0 + SEC);
    apply_ok(core.ctld.cluster, tx);
    cleaning_begin(&core.ctld, j, 0, NULL);
    siteprologs_service.site_epilog_over(&core.ctld, j);
    assert_true(job_holds_resources(j->rec)); /* its node has not answered yet */
    cleaning_pass_all(&core.ctld, j);
    siteprologs_service.site_epilog_over(&core.ctld, j);
    assert_false(job_holds_resources(j->rec));
    assert_false(job_has_flag(j->rec, JOB_FLAG(COMPLETING)));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_well), ROW(test_failed), ROW(test_epilog) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
