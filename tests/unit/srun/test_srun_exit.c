/* test_srun_exit.c - the lines about tasks that ended badly */
#include "base/timefmt.h"
#include "cli/srun/srun.h"
#include "output_util.h"

static struct output said;
static struct srun srun;
static struct srun_part part;
static struct srun_node nodes[2];

#define EXITED(code) ((uint32_t)(code) << 8)

static int begin_step(void **state)
{
    (void)state;
    srun = (struct srun){ .nodes = nodes, .n_nodes = 2, .parts = &part, .n_parts = 1 };
    cli_init(&srun.cli, "srun");
    part = (struct srun_part){ .first_rank = 0 };
    nodes[0] = (struct srun_node){ .name = "n1", .part = &part, .n_tasks = 4 };
    nodes[1] = (struct srun_node){ .name = "n2", .part = &part, .n_tasks = 1, .first = 4 };
    srun.sink_out.fd = srun.sink_err.fd = -1;
    return 0;
}

static int end_step(void **state)
{
    (void)state;
    free(nodes[0].held);
    free(nodes[1].held);
    cli_done(&srun.cli);
    return 0;
}

static void hold(struct srun_node *n, const uint32_t *ranks, size_t count, uint32_t status)
{
    Pst__StepTaskExit msg = PST__STEP_TASK_EXIT__INIT;

    msg.task_ids = (uint32_t *)ranks;
    msg.n_task_ids = count;
    msg.status = status;
    output_begin(&said, NULL);
    srun_exit_hold(&srun, n, &msg);
    output_end(&said);
}

static void tell(void)
{
    output_begin(&said, NULL);
    srun_exit_tell(&srun);
    output_end(&said);
}

/* Tasks that end alike share a line, in the order of their ranks; the words are those recorded. */
static void test_shared_line(void **state)
{
    (void)state;
    hold(&nodes[0], (uint32_t[]){ 3 }, 1, EXITED(2));
    hold(&nodes[0], (uint32_t[]){ 0, 1 }, 2, EXITED(2));
    expect_said(&said, "", "");
    tell();
    expect_said(&said, "", "srun: error: n1: tasks 0-1,3: Exited with exit code 2\n");
    tell();
    expect_said(&said, "", ""); /* once */
}

/* Another end tells those before; the last task of a node waits for no other. */
static void test_another_end(void **state)
{
    (void)state;
    hold(&nodes[0], (uint32_t[]){ 1 }, 1, EXITED(2));
    hold(&nodes[0], (uint32_t[]){ 2 }, 1, 9);
    expect_said(&said, "", "srun: error: n1: task 1: Exited with exit code 2\n");
    tell();
    expect_said(&said, "", "srun: error: n1: task 2: Killed\n");
    hold(&nodes[1], (uint32_t[]){ 4 }, 1, EXITED(1));
    expect_said(&said, "", "srun: error: n2: task 4: Exited with exit code 1\n");
}

/* A component counts its own tasks. */
static void test_component(void **state)
{
    (void)state;
    part.first_rank = 4;
    hold(&nodes[1], (uint32_t[]){ 4 }, 1, EXITED(1));
    expect_said(&said, "", "srun: error: n2: task 0: Exited with exit code 1\n");
}

/* The user knows what he killed; good ends are told to those who ask for more. */
static void test_untold(void **state)
{
    (void)state;
    srun.interrupted = true;
    hold(&nodes[1], (uint32_t[]){ 4 }, 1, 2);
    expect_said(&said, "", "");
    srun.interrupted = false;
    hold(&nodes[1], (uint32_t[]){ 4 }, 1, 0);
    expect_said(&said, "", "");
    cli_set_verbosity(&srun.cli, 1);
    hold(&nodes[1], (uint32_t[]){ 4 }, 1, 0);
    expect_said(&said, "", "srun: n2: task 4: Completed\n");
}

/* A node cannot name more tasks than it has. */
static void test_too_many(void **state)
{
    static const uint32_t many[] = { 4, 4, 4, 4, 4, 4, 4, 4 };

    (void)state;
    hold(&nodes[1], many, 8, EXITED(1));
    expect_said(&said, "", "srun: error: n2: task 4: Exited with exit code 1\n");
}

static void test_timer(void **state)
{
    int ms = -1;

    (void)state;
    srun_exit_timer(&srun, &ms);
    assert_int_equal(ms, -1); /* nothing waits */
    hold(&nodes[0], (uint32_t[]){ 1 }, 1, EXITED(2));
    srun_exit_timer(&srun, &ms);
    assert_true(ms >= 0 && ms <= 101);
    ms = 3;
    srun.tell_mono_us += 50000;
    srun_exit_timer(&srun, &ms);
    assert_int_equal(ms, 3); /* somebody comes earlier */
    srun.tell_mono_us = now_mono_us();
    output_begin(&said, NULL);
    srun_exit_timer(&srun, &ms);
    output_end(&said);
    expect_said(&said, "", "srun: error: n1: task 1: Exited with exit code 2\n");
    assert_int_equal(srun.tell_mono_us, 0);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_step, end_step)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_shared_line), ONE(test_another_end), ONE(test_component),
        ONE(test_untold),      ONE(test_too_many),    ONE(test_timer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
