/* test_stepswait.c - swait: a request that is answered when a job has no step of srun any more */
#include "stepcore_util.h"

#include "ctld/policy/policy.h"

static struct conn *ann, *bob;

static void begin(const char *lines)
{
    stepcore_begin(lines, 1);
    ann = coreask_connect(1000);
    bob = coreask_connect(1001);
}

static void end(void)
{
    ann = coreask_part(&core, ann);
    bob = coreask_part(&core, bob);
    coreask_end(&core);
}

static int wait_for(struct conn *c, const char *id)
{
    char json[64];

    (void)snprintf(json, sizeof(json), "{'id':'%s'}", id);
    return coreask(&core, c, "user", OP_STEPS_WAIT, json, NULL);
}

static void end_step(struct job *j, uint32_t step)
{
    (void)steps_unlaunched(&core.ctld, j, step, 0);
    coreask_settle(&core);
}

/* The script, the extern step and salloc's shell are no steps of srun. */
static void test_drains(void **state)
{
    struct job *j;

    (void)state;
    begin("");
    j = stepcore_job(7, 1, by_stepmgr);
    (void)stepcore_step(j, STEP_BATCH, 1, 1);
    (void)stepcore_step(j, STEP_EXTERN, 1, 1);
    (void)stepcore_step(j, STEP_INTERACTIVE, 1, 1);
    assert_int_equal(wait_for(ann, "7"), 0);
    (void)stepcore_step(j, 0, 1, 1);
    (void)stepcore_step(j, 1, 1, 1);
    assert_int_equal(wait_for(ann, "7"), -1);
    end_step(j, 0);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), -1);
    end_step(j, 1);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), 0);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), -1); /* once */
    end();
}

/* Two wait for one job, one for another; a pending step counts. */
static void test_several(void **state)
{
    struct job *a, *b;
    Pst__Transaction *tx;
    struct conn *again;

    (void)state;
    begin("");
    again = coreask_connect(1000);
    a = stepcore_job(7, 1, by_stepmgr);
    b = stepcore_job(8, 1, by_stepmgr);
    (void)stepcore_step(a, 0, 1, 1);
    (void)stepcore_step(b, 0, 1, 1);
    tx = tx_new(T0);
    SET(tx_step_put(tx, EV(UNSPECIFIED), 7, 1), state, PST__STEP_STATE__STEP_PENDING);
    apply_ok(core.ctld.cluster, tx);
    assert_int_equal(wait_for(ann, "7"), -1);
    assert_int_equal(wait_for(again, "7"), -1);
    assert_int_equal(wait_for(bob, "8"), ESLURM_ACCESS_DENIED);
    end_step(a, 0);
    end_step(b, 0);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), -1);
    (void)async_end_pending(&core.ctld, a, 1, NULL);
    coreask_settle(&core);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), 0);
    assert_int_equal(coreask_answer(again, OP_STEPS_WAIT, NULL), 0);
    assert_int_equal(wait_for(ann, "8"), 0); /* nothing is left of it */
    coreask_hang_up(&core, again);
    conn_unref(again);
    end();
}

/* A client that goes away is forgotten; the others stay. */
static void test_gone(void **state)
{
    struct conn *again;
    struct job *j;

    (void)state;
    begin("");
    again = coreask_connect(1000);
    j = stepcore_job(7, 1, by_stepmgr);
    (void)stepcore_step(j, 0, 1, 1);
    assert_int_equal(wait_for(ann, "7"), -1);
    assert_int_equal(wait_for(again, "7"), -1);
    coreask_hang_up(&core, again);
    assert_int_equal(again->refs, 1);
    conn_unref(again);
    end_step(j, 0);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), 0);
    end();
}

/* What `show job` says of a job is no secret, unless PrivateData makes it one. */
static void test_rights(void **state)
{
    (void)state;
    begin("");
    (void)stepcore_job(6, 1, NULL);
    (void)stepcore_job(7, 1, by_stepmgr);
    assert_int_equal(wait_for(ann, "6"), ESLURM_NOT_SUPPORTED);
    assert_non_null(strstr(coreask_text, "--stepmgr"));
    assert_int_equal(wait_for(bob, "6"), ESLURM_NOT_SUPPORTED);
    assert_int_equal(wait_for(bob, "7"), ESLURM_ACCESS_DENIED);
    assert_int_equal(wait_for(ann, "9"), ESLURM_INVALID_JOB_ID);
    assert_int_equal(wait_for(ann, "x"), ESLURM_INVALID_JOB_ID);
    assert_int_equal(coreask(&core, ann, "user", OP_STEPS_WAIT, "{}", NULL), ESLURM_INVALID_JOB_ID);
    atomic_store(&core.ctld.private_data, PRIVATE_JOBS);
    assert_int_equal(wait_for(bob, "6"), ESLURM_ACCESS_DENIED);
    assert_int_equal(wait_for(ann, "6"), ESLURM_NOT_SUPPORTED);
    end();
}

/* The end of the job ends the waiting, whatever its steps say. */
static void test_job_ends(void **state)
{
    struct job *j;

    (void)state;
    begin("");
    j = stepcore_job(7, 1, by_stepmgr);
    (void)stepcore_step(j, 0, 1, 1);
    assert_int_equal(wait_for(ann, "7"), -1);
    end_job(core.ctld.cluster, 7, JOB_STATE(CANCELLED), T0 + SEC, false);
    async_drained(&core.ctld, j);
    coreask_settle(&core);
    assert_int_equal(coreask_answer(ann, OP_STEPS_WAIT, NULL), 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drains), cmocka_unit_test(test_several),  cmocka_unit_test(test_gone),
        cmocka_unit_test(test_rights), cmocka_unit_test(test_job_ends),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
