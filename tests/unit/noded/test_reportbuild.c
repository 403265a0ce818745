/* test_reportbuild.c - the events of a node and the report made of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "noded/link/reportbuild.h"

enum { JOB = 7, RUN = 70, STEP = 3 };

struct world {
    struct noded *d;
    struct njob *job;
    struct report_build b;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    Pst__JobOnNode *on = malloc(sizeof(*on));

    assert_non_null(w);
    assert_non_null(on);
    w->d = calloc(1, sizeof(*w->d));
    assert_non_null(w->d);
    pst__job_on_node__init(on);
    on->job = malloc(sizeof(*on->job));
    assert_non_null(on->job);
    pst__job_record__init(on->job);
    on->job->has_job_id = on->has_run_id = 1;
    on->job->job_id = JOB;
    on->run_id = RUN;
    assert_int_equal(jobs_add_take(&w->d->jobs, on, &w->job), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    report_build_done(&w->b);
    jobs_remove(&w->d->jobs, w->job);
    free(w->d);
    free(w);
    return 0;
}

static void add_event(struct world *w, enum report_event_kind kind, uint32_t job, uint32_t step)
{
    const struct report_event e = { kind, job, step, RUN };

    report_build_add(w->d, &w->b, &e);
}

/* As many as there are, in the order they came. */
static void test_events(void **state)
{
    struct report_events l = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 1000; i++)
        report_events_add(&l, (struct report_event){ EV_CLEAN, i, 0, i });
    assert_int_equal(l.n, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(l.items[i].job_id == i && l.items[i].run_id == i);
    free(l.items);
}

static void expect_ref(const Pst__RunningStep *ref, uint32_t job, bool has_step, uint32_t step)
{
    assert_true(ref->has_job_id && ref->job_id == job);
    assert_true(ref->has_run_id && ref->run_id == RUN);
    assert_int_equal(ref->has_step_id, has_step);
    if (has_step)
        assert_int_equal(ref->step_id, step);
}

static void test_kinds(void **state)
{
    struct world *w = *state;

    assert_true(report_build_init(&w->b, 6));
    add_event(w, EV_LAUNCHED, JOB, STEP);
    add_event(w, EV_LAUNCHED, 8, 0);
    add_event(w, EV_PROLOG_DONE, JOB, 0);
    add_event(w, EV_SCRIPT_TOLD, JOB, 0);
    add_event(w, EV_PROLOG_FAILED, 9, 0);
    add_event(w, EV_CLEAN, JOB, 0);
    assert_int_equal(w->b.msg.n_launched, 2);
    expect_ref(w->b.msg.launched[0], JOB, true, STEP);
    expect_ref(w->b.msg.launched[1], 8, true, 0);
    assert_int_equal(w->b.msg.n_prolog_done, 1);
    expect_ref(w->b.msg.prolog_done[0], JOB, false, 0);
    assert_int_equal(w->b.msg.n_script_told, 1);
    expect_ref(w->b.msg.script_told[0], JOB, false, 0);
    assert_true(w->b.msg.has_prolog_failed_job && w->b.msg.prolog_failed_job == 9);
    assert_true(w->b.msg.has_prolog_failed_run && w->b.msg.prolog_failed_run == RUN);
    assert_int_equal(w->b.msg.n_clean, 1);
    expect_ref(w->b.msg.clean[0], JOB, false, 0);
    assert_false(w->b.msg.clean[0]->has_epilog_failed);
    assert_int_equal(w->b.msg.n_ended, 0);
    assert_true(pst__node_report__get_packed_size(&w->b.msg) > 0); /* it is a whole message */
}

/* The node is not fit for jobs any more. */
static void test_failed_epilog(void **state)
{
    struct world *w = *state;

    w->job->epilog = SCRIPT_FAILED;
    assert_true(report_build_init(&w->b, 2));
    add_event(w, EV_CLEAN, JOB, 0);
    add_event(w, EV_CLEAN, 8, 0); /* of a job that is not here any more */
    assert_true(w->b.msg.clean[0]->epilog_failed);
    assert_false(w->b.msg.clean[1]->has_epilog_failed);
}

/* Ends are those of the steps; a step that never was here is over as if it had been killed. */
static void test_ends(void **state)
{
    struct world *w = *state;
    struct nstep *step = NULL;

    assert_int_equal(job_add_step(w->job, STEP, &step), 0);
    assert_true(report_build_init(&w->b, 4));
    add_event(w, EV_ENDED, JOB, STEP); /* it has not ended yet: nothing to tell */
    assert_int_equal(w->b.msg.n_ended, 0);
    step->end = malloc(sizeof(*step->end));
    assert_non_null(step->end);
    pst__step_end__init(step->end);
    add_event(w, EV_ENDED, JOB, STEP);
    add_event(w, EV_ENDED, 8, 0); /* gone */
    add_event(w, EV_ABSENT, 9, 5);
    assert_int_equal(w->b.msg.n_ended, 2);
    assert_ptr_equal(w->b.msg.ended[0], step->end);
    assert_int_equal(w->b.msg.ended[1]->job_id, 9);
    assert_int_equal(w->b.msg.ended[1]->step_id, 5);
    assert_true(w->b.msg.ended[1]->run_id == RUN);
    assert_int_equal(w->b.msg.ended[1]->exit_status, SIGKILL);
}

/* Memory is that of when the report is made, of jobs that are here. */
static void test_memory(void **state)
{
    struct world *w = *state;

    assert_true(report_build_init(&w->b, 2));
    add_event(w, EV_MEMORY, 8, 0);
    assert_int_equal(w->b.msg.n_job_memory, 0);
    add_event(w, EV_MEMORY, JOB, 0);
    assert_int_equal(w->b.msg.n_job_memory, 1);
    assert_int_equal(w->b.msg.job_memory[0]->job_id, JOB);
    assert_true(w->b.msg.job_memory[0]->run_id == RUN);
    assert_true(w->b.msg.job_memory[0]->has_used_kib && w->b.msg.job_memory[0]->used_kib == 0);
}

int main(void)
{
#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events), IN_WORLD(test_kinds),  IN_WORLD(test_failed_epilog),
        IN_WORLD(test_ends),           IN_WORLD(test_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reportbuild", tests, NULL, NULL);
}
