/* test_emjobs.c - jobs of an emulated node: each end is said until it was heard, and no more */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>

#include "emulate/emjobs.h"
#include "stepd/shared/spool.h"

#define SECOND INT64_C(1000000)

struct said {
    size_t launched, ended, clean, prolog;
    uint32_t status;
    bool node_clean;
};

static void launch(struct emjobs *jobs, uint32_t job_id, size_t nodes, const char *script)
{
    Pst__LaunchBatch m = PST__LAUNCH_BATCH__INIT;
    Pst__JobOnNode on = PST__JOB_ON_NODE__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    uint32_t ids[4] = { 0 };

    alloc.node_ids = ids;
    alloc.n_node_ids = nodes;
    job.job_id = job_id;
    job.alloc = &alloc;
    on.job = &job;
    on.run_id = 70 + job_id;
    m.job = &on;
    m.script = (ProtobufCBinaryData){ strlen(script), (uint8_t *)(uintptr_t)script };
    assert_int_equal(emjobs_launch(jobs, &m, 0), 0);
}

static void terminate(struct emjobs *jobs, uint32_t job_id)
{
    Pst__TerminateJob m = PST__TERMINATE_JOB__INIT;

    m.job_id = job_id;
    m.run_id = 70 + job_id;
    assert_int_equal(emjobs_terminate(jobs, &m), 0);
}

/* What the next report says. */
static struct said report(struct emjobs *jobs)
{
    Pst__NodeReport msg = PST__NODE_REPORT__INIT;
    struct emreport parts;
    struct said s;
    int r = emjobs_report(jobs, 5, &parts, &msg);

    s = (struct said){ msg.n_launched, msg.n_ended, msg.n_clean, msg.n_prolog_done, 0, false };
    assert_int_equal(r, s.launched + s.ended + s.clean + s.prolog > 0);
    if (s.ended) {
        s.status = msg.ended[0]->exit_status;
        s.node_clean = msg.ended[0]->node_clean;
    }
    emreport_done(&parts);
    return s;
}

static void test_a_job_of_one_node(void **state)
{
    struct emjobs jobs = { 0 };
    struct said s;

    (void)state;
    launch(&jobs, 1, 1, "sleep 2; exit 3");
    launch(&jobs, 1, 1, "sleep 2; exit 3"); /* the controller asks again */
    assert_int_equal(emjobs_turn(&jobs, SECOND), 2 * SECOND);
    s = report(&jobs);
    assert_true(s.launched == 1 && s.ended == 0);
    emjobs_acked(&jobs);
    assert_int_equal(emjobs_turn(&jobs, 2 * SECOND), EMJOBS_NEVER);
    s = report(&jobs);
    assert_true(s.ended == 1 && s.status == 3 << 8 && s.node_clean && s.launched == 0);
    emjobs_acked(&jobs);
    assert_null(jobs.first);
    assert_int_equal(report(&jobs).ended, 0);
}

static void test_what_was_not_heard_is_said_again(void **state)
{
    struct emjobs jobs = { 0 };

    (void)state;
    launch(&jobs, 1, 1, "false");
    (void)emjobs_turn(&jobs, 0);
    assert_int_equal(report(&jobs).ended, 1);
    emjobs_lost(&jobs);
    assert_int_equal(report(&jobs).ended, 1);
    emjobs_acked(&jobs);
    assert_null(jobs.first);
}

static void test_a_job_of_several_nodes_is_clean_when_it_is_terminated(void **state)
{
    struct emjobs jobs = { 0 };
    struct said s;

    (void)state;
    launch(&jobs, 1, 2, "sleep 100");
    assert_int_equal(report(&jobs).launched, 1);
    emjobs_acked(&jobs);
    terminate(&jobs, 1);
    s = report(&jobs);
    assert_true(s.ended == 1 && s.status == SIGTERM && !s.node_clean && s.clean == 1);
    emjobs_acked(&jobs);
    assert_null(jobs.first);
    terminate(&jobs, 9); /* nothing is here: that is clean */
    assert_int_equal(report(&jobs).clean, 1);
    emjobs_acked(&jobs);
    assert_null(jobs.first);
}

static void test_a_registration_tells_everything(void **state)
{
    Pst__NodeRegister msg = PST__NODE_REGISTER__INIT;
    struct emjobs jobs = { 0 };
    struct emreport parts;

    (void)state;
    launch(&jobs, 1, 1, "sleep 100");
    launch(&jobs, 2, 2, "true");
    launch(&jobs, 3, 1, "true");
    (void)report(&jobs);
    emjobs_acked(&jobs);
    (void)emjobs_turn(&jobs, 0);
    (void)report(&jobs);
    emjobs_lost(&jobs);
    assert_int_equal(emjobs_register(&jobs, 5, &parts, &msg), 0);
    assert_int_equal(msg.n_running, 1);
    assert_int_equal(msg.running[0]->job_id, 1);
    assert_int_equal(msg.n_ended, 2);
    assert_int_equal(msg.n_jobs, 2); /* the node of job 3 is clean with its end */
    emreport_done(&parts);
    emjobs_acked(&jobs);
    assert_int_equal(report(&jobs).ended, 0);
    terminate(&jobs, 2);
    assert_int_equal(report(&jobs).clean, 1);
    emjobs_clear(&jobs);
}

static int send_signal(struct emjobs *jobs, Pst__SignalSteps *m, int64_t now)
{
    m->job_id = 1;
    m->run_id = 71;
    return emjobs_signal(jobs, m, now);
}

static void test_signals(void **state)
{
    Pst__SignalSteps batch = PST__SIGNAL_STEPS__INIT, others = PST__SIGNAL_STEPS__INIT;
    Pst__SignalSteps suspend = PST__SIGNAL_STEPS__INIT, resume = PST__SIGNAL_STEPS__INIT;
    struct emjobs jobs = { 0 };

    (void)state;
    batch.has_include_batch = batch.include_batch = true;
    suspend.has_suspend = suspend.suspend = true;
    resume.has_resume = resume.resume = true;
    assert_int_equal(send_signal(&jobs, &batch, 0), -ENOENT);
    launch(&jobs, 1, 1, "sleep 10");
    others.signal = SIGKILL; /* of steps alone */
    assert_int_equal(send_signal(&jobs, &others, 0), 0);
    assert_int_equal(emjobs_turn(&jobs, SECOND), 10 * SECOND);
    assert_int_equal(send_signal(&jobs, &suspend, 4 * SECOND), 0);
    assert_int_equal(emjobs_turn(&jobs, 50 * SECOND), EMJOBS_NEVER);
    assert_int_equal(send_signal(&jobs, &resume, 60 * SECOND), 0);
    assert_int_equal(emjobs_turn(&jobs, 60 * SECOND), 66 * SECOND);
    batch.signal = SIGURG;
    assert_int_equal(send_signal(&jobs, &batch, 60 * SECOND), 0);
    assert_int_equal(emjobs_turn(&jobs, 60 * SECOND), 66 * SECOND);
    batch.signal = SIGUSR1;
    assert_int_equal(send_signal(&jobs, &batch, 60 * SECOND), 0);
    assert_int_equal(report(&jobs).status, SIGUSR1);
    emjobs_clear(&jobs);
}

static void test_steps_that_are_not_here(void **state)
{
    Pst__SignalSteps ask = PST__SIGNAL_STEPS__INIT;
    uint32_t ids[] = { 4, STEP_ID_BATCH };
    struct emjobs jobs = { 0 };
    struct said s;

    (void)state;
    launch(&jobs, 1, 1, "sleep 10");
    (void)report(&jobs);
    emjobs_acked(&jobs);
    ask.has_ask = ask.ask = true;
    ask.step_ids = ids;
    ask.n_step_ids = 2;
    for (unsigned i = 0; i < 3; i++) /* however often it is asked before the answer leaves */
        assert_int_equal(send_signal(&jobs, &ask, 0), 0);
    s = report(&jobs);
    assert_true(s.ended == 1 && s.status == SIGKILL); /* the script is here */
    emjobs_lost(&jobs);
    assert_int_equal(report(&jobs).ended, 1);
    emjobs_acked(&jobs);
    assert_int_equal(report(&jobs).ended, 0);
    emjobs_clear(&jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_of_one_node),
        cmocka_unit_test(test_what_was_not_heard_is_said_again),
        cmocka_unit_test(test_a_job_of_several_nodes_is_clean_when_it_is_terminated),
        cmocka_unit_test(test_a_registration_tells_everything),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_steps_that_are_not_here),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
