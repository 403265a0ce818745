/* test_jobverbs.c - what a verb does to one job, and what it answers where it does nothing */
#include "core_util.h"

#include <signal.h>

#include "ctld/update/jobverbs.h"
#include "wire/errors.h"

extern const struct ctld_service hooks_service;

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

static void may_requeue(Pst__JobRecord *r)
{
    SET(r, batch, true);
    SET(r, requeue, true);
}

/* Job 1 runs on n0. */
static struct job *running(uint32_t id, void (*with)(Pst__JobRecord *r))
{
    struct job *j = core_job(&core, id, with);
    Pst__Transaction *tx;

    (void)core_start(id, 1, &tx); /* nothing to add */
    apply_ok(core.ctld.cluster, tx);
    return j;
}

static int act(struct job *j, Pst__JobVerb verb)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;
    struct cmd cmd = { 0 };
    struct action a = { .ctld = &core.ctld, .cmd = &cmd, .req = &req, .id = "1" };
    struct job_ref ref = { .job = j };
    uint64_t before = core.ctld.applied_lsn;
    int code;

    SET(&req, verb, verb);
    code = jobverb_do(&a, &ref);
    assert_true(code == 0 || core.ctld.applied_lsn == before); /* a refusal changes nothing */
    return code;
}
#define VERB(x) PST__JOB_VERB__VERB_##x

/* Cancel and SIGKILL of all of it end the job; other signals, steps and the script alone do not. */
static void test_kills(void **state)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;
    const struct action a = { .req = &req };
    struct job_ref ref = { 0 };

    (void)state;
    SET(&req, verb, VERB(CANCEL));
    assert_true(jobverb_kills(&a, &ref));
    ref.has_step = true;
    assert_false(jobverb_kills(&a, &ref));
    ref.has_step = false;
    SET(&req, verb, VERB(SIGNAL));
    SET(&req, signal, SIGTERM);
    assert_false(jobverb_kills(&a, &ref));
    SET(&req, signal, SIGKILL);
    assert_true(jobverb_kills(&a, &ref));
    SET(&req, batch_only, true);
    assert_false(jobverb_kills(&a, &ref));
    SET(&req, batch_only, false);
    SET(&req, steps_only, true);
    assert_false(jobverb_kills(&a, &ref));
    SET(&req, verb, VERB(REQUEUE));
    assert_false(jobverb_kills(&a, &ref));
}

static void test_cancel(void **state)
{
    struct job *waits = core_job(&core, 1, NULL), *runs = running(2, NULL);

    (void)state;
    assert_int_equal(act(waits, VERB(CANCEL)), 0);
    assert_int_equal(job_state(waits->rec), JOB_STATE(CANCELLED));
    assert_int_equal(act(waits, VERB(CANCEL)), ESLURM_ALREADY_DONE);
    assert_int_equal(act(runs, VERB(CANCEL)), 0);
    assert_int_equal(job_state(runs->rec), JOB_STATE(CANCELLED));
}

static void test_requeue(void **state)
{
    struct job *shell = running(1, NULL), *waits = core_job(&core, 2, may_requeue),
               *runs = running(3, may_requeue);

    (void)state;
    assert_int_equal(act(shell, VERB(REQUEUE)), ESLURM_BATCH_ONLY);
    assert_int_equal(act(waits, VERB(REQUEUE)), ESLURM_JOB_PENDING);
    assert_int_equal(act(runs, VERB(REQUEUE)), 0);
    assert_true(job_is_pending(runs->rec) || job_comes_back(runs->rec));
    SET(shell->rec, batch, true); /* --no-requeue */
    assert_int_equal(act(shell, VERB(REQUEUE)), ESLURM_DISABLED);
}

static void test_suspend(void **state)
{
    struct job *waits = core_job(&core, 1, NULL), *runs = running(2, NULL);

    (void)state;
    assert_int_equal(act(waits, VERB(SUSPEND)), ESLURM_JOB_PENDING);
    assert_int_equal(act(runs, VERB(RESUME)), ESLURM_JOB_NOT_SUSPENDED);
    assert_int_equal(act(runs, VERB(SUSPEND)), 0);
    assert_true(job_is_suspended(runs->rec));
    assert_int_equal(act(runs, VERB(SUSPEND)), 0); /* it is so already */
    assert_int_equal(act(runs, VERB(RESUME)), 0);
    assert_true(job_is_running(runs->rec));
    assert_int_equal(act(runs, VERB(CANCEL)), 0);
    assert_int_equal(act(runs, VERB(SUSPEND)), ESLURM_ALREADY_DONE);
}

static void test_complete(void **state)
{
    struct job *waits = core_job(&core, 1, NULL), *runs = running(2, NULL);

    (void)state;
    assert_int_equal(act(waits, VERB(COMPLETE)), 0);
    assert_int_equal(job_state(waits->rec), JOB_STATE(CANCELLED)); /* it never began */
    assert_int_equal(act(runs, VERB(COMPLETE)), 0);
    assert_int_equal(job_state(runs->rec), JOB_STATE(COMPLETED));
    assert_int_equal(act(runs, VERB(COMPLETE)), 0); /* its client says so again */
    assert_int_equal(act(runs, (Pst__JobVerb)77), ESLURM_NOT_SUPPORTED);
}

static void of_alice(Pst__JobRecord *r)
{
    SET(r, uid, 2001);
}

static void of_another_account(Pst__JobRecord *r)
{
    of_alice(r);
    assert_int_equal(pb_set_str(&r->account, "chem"), 0);
}

/* `top 5,4,3` of a user: the first job gains what the others lose, the next ones of the list stand
 * directly behind it (recording 48: nice of 18 and 17 after `scontrol top 18,17`); a job of another
 * account keeps its place. */
static void test_top_of_a_list(void **state)
{
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;
    char sender; /* what a connection is does not matter where the rights of a user count */
    struct cmd cmd = {
        .conn = (struct conn *)&sender, .caller = "alice", .uid = 2001, .as_user = true
    };
    struct action a = { .ctld = &core.ctld, .cmd = &cmd, .req = &req };
    struct job *jobs[7];

    (void)state;
    core_end(&core);
    core_begin(&core, "SchedulerParameters=enable_user_top\n", &hooks_service);
    for (uint32_t id = 1; id <= 5; id++)
        jobs[id] = core_job(&core, id, of_alice);
    jobs[6] = core_job(&core, 6, of_another_account);
    SET(&req, verb, VERB(TOP));
    for (uint32_t id = 5; id >= 3; id--)
        assert_int_equal(jobverb_do(&a, &(struct job_ref){ .job = jobs[id] }), 0);
    assert_int_equal(jobs[1]->rec->nice, 1);
    assert_int_equal(jobs[2]->rec->nice, 1);
    assert_false(jobs[6]->rec->has_nice);
    assert_int_equal(jobs[5]->rec->nice, -4);
    assert_int_equal(jobs[4]->rec->nice, -3);
    assert_int_equal(jobs[3]->rec->nice, -2);
}

static uint32_t leader;

static void with_group(Pst__JobRecord *r)
{
    SET(r, het_job_id, leader);
    SET(r, het_count, 2);
    SET(r, het_offset, r->job_id - leader);
}

/* A component that waits is not cancelled alone; the whole is by its leader. */
static void test_group(void **state)
{
    struct job *first, *second;

    (void)state;
    leader = 1;
    first = core_job(&core, 1, with_group);
    second = core_job(&core, 2, with_group);
    assert_int_equal(act(second, VERB(CANCEL)), ESLURM_NOT_WHOLE_HET_JOB);
    assert_int_equal(act(second, VERB(SUSPEND)), ESLURM_NOT_WHOLE_HET_JOB);
    assert_int_equal(act(second, VERB(REQUEUE)), ESLURM_NOT_HET_JOB_LEADER);
    assert_int_equal(act(first, VERB(REQUEUE)), ESLURM_JOB_PENDING);
    assert_int_equal(act(first, VERB(CANCEL)), 0);
    assert_int_equal(job_state(first->rec), JOB_STATE(CANCELLED));
    assert_int_equal(job_state(second->rec), JOB_STATE(CANCELLED));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_kills),    ROW(test_cancel),
                                        ROW(test_requeue),  ROW(test_suspend),
                                        ROW(test_complete), ROW(test_top_of_a_list),
                                        ROW(test_group) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
