/* test_joblaunch.c - what the nodes are told about jobs: launch, signal, terminate */
#include "stepcore_util.h"

#include "ctld/job/lifecycle.h"

extern const struct ctld_service programs_service;

static struct conn *nodes[3];

/* Three connected nodes of eight CPUs: two sockets of two cores with two threads. */
static void begin(const char *lines)
{
    stepcore_begin(lines, 3);
    for (uint32_t i = 0; i < 3; i++) {
        Pst__Transaction *tx = tx_new(T0);

        SET(tx_node_patch(tx, EV(NODE_CONFIG), i), threads_per_core, 2);
        apply_ok(core.ctld.cluster, tx);
        nodes[i] = coreask_link(&core, i);
    }
}

/* Job 7 runs with so many CPUs and tasks on each of the nodes. */
static struct job *run_on(const uint32_t *cpus, const uint32_t *tasks, uint32_t n,
                          void (*with)(Pst__JobRecord *r))
{
    struct job *j = core_job(&core, 7, with);
    Pst__Transaction *tx;
    Pst__JobRecord *set = core_start(7, n, &tx);

    set->alloc->groups = realloc(set->alloc->groups, n * sizeof(*set->alloc->groups));
    assert_non_null(set->alloc->groups);
    set->alloc->n_groups = n;
    for (uint32_t i = 0; i < n; i++) {
        if (i) {
            set->alloc->groups[i] = malloc(sizeof(Pst__AllocGroup));
            assert_non_null(set->alloc->groups[i]);
            pst__alloc_group__init(set->alloc->groups[i]);
        }
        SET(set->alloc->groups[i], nodes, 1);
        SET(set->alloc->groups[i], cpus, cpus[i]);
        SET(set->alloc->groups[i], tasks, tasks[i]);
        SET(set->alloc->groups[i], mem_mib, 100 + i);
    }
    apply_ok(core.ctld.cluster, tx);
    return j;
}

static void batch(Pst__JobRecord *r)
{
    SET(r, batch, true);
    SET(r, num_tasks, 5);
    SET(r, db_id, 4711);
}

static void batch_single(Pst__JobRecord *r)
{
    batch(r);
    SET(r, threads_per_core, 1);
}

static void batch_hint(Pst__JobRecord *r)
{
    batch(r);
    assert_int_equal(pb_set_str(&r->hint, "compute_bound,nomultithread"), 0);
}

static void batch_plain(Pst__JobRecord *r)
{
    SET(r, batch, true);
}

/* SLURM_JOB_CPUS_PER_NODE and SLURM_TASKS_PER_NODE, equal neighbours together; without a number of
 * tasks there are as many as CPUs. */
static const struct {
    uint32_t cpus[3], tasks[3];
    void (*with)(Pst__JobRecord *r);
    const char *cpus_text, *tasks_text;
    uint32_t usable;
} rows[] = {
    { { 4, 4, 4 }, { 2, 2, 1 }, batch, "4(x3)", "2(x2),1", 4 },
    { { 8, 4, 4 }, { 1, 2, 2 }, batch, "8,4(x2)", "1,2(x2)", 8 },
    { { 8, 4, 8 }, { 1, 1, 3 }, batch, "8,4,8", "1(x2),3", 8 },
    { { 4, 4, 4 }, { 2, 2, 1 }, batch_single, "2(x3)", "2(x2),1", 2 },
    { { 8, 4, 4 }, { 2, 2, 1 }, batch_hint, "4,2(x2)", "2(x2),1", 4 },
    { { 4, 4, 2 }, { 1, 1, 1 }, batch_plain, "4(x2),2", "4(x2),2", 4 },
};

static void test_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const Pst__JobOnNode *on;
        struct told t;
        struct job *j;

        begin("");
        j = run_on(rows[i].cpus, rows[i].tasks, 3, rows[i].with);
        launch_batch(&core.ctld, j, 0);
        coreask_settle(&core);
        t = coreask_take(nodes[0], OP_LAUNCH_BATCH);
        assert_non_null(t.conn);
        on = ((const Pst__LaunchBatch *)t.msg)->job;
        if (strcmp(on->cpus_per_node, rows[i].cpus_text) != 0 ||
            strcmp(on->tasks_per_node, rows[i].tasks_text) != 0 ||
            on->usable_cpus != rows[i].usable)
            fail_msg("row %zu: %s, %s, %u", i, on->cpus_per_node, on->tasks_per_node,
                     on->usable_cpus);
        drop_told(&t);
        coreask_end(&core);
    }
}

static const uint32_t four[] = { 4, 4, 4 }, one[] = { 1, 1, 1 };

/* The script goes to the first node alone, with what that node has of the job. */
static void test_batch(void **state)
{
    const Pst__LaunchBatch *msg;
    struct told t;
    struct job *j;

    (void)state;
    begin("");
    j = run_on(four, one, 2, batch);
    launch_batch(&core.ctld, j, 0);
    coreask_settle(&core);
    t = coreask_take(nodes[0], OP_LAUNCH_BATCH);
    assert_non_null(t.conn);
    msg = (const Pst__LaunchBatch *)t.msg;
    assert_int_equal(msg->job->job->job_id, 7);
    assert_int_equal(msg->job->run_id, 4711);
    assert_string_equal(msg->job->node_name, "n0");
    assert_int_equal(msg->job->node_index, 0);
    assert_int_equal(msg->job->mem_mib, 100);
    assert_false(msg->has_script); /* its script is not there */
    drop_told(&t);
    assert_int_equal(coreask_count(nodes[1], OP_LAUNCH_BATCH), 0);
    assert_int_equal(coreask_count(nodes[1], OP_PREPARE_JOB), 0); /* with its first step */
    coreask_end(&core);
}

static void allocation(Pst__JobRecord *r)
{
    SET(r, num_tasks, 3);
}

/* An allocation has no script; a job whose PrologSlurmctld runs is not launched yet. */
static void test_not_yet(void **state)
{
    Pst__Transaction *tx;
    struct job *j;

    (void)state;
    begin("");
    j = run_on(four, one, 2, allocation);
    launch_batch(&core.ctld, j, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_count(nodes[0], OP_LAUNCH_BATCH), 0);
    coreask_end(&core);
    begin("");
    j = run_on(four, one, 2, batch);
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 7), prolog_pending, true);
    apply_ok(core.ctld.cluster, tx);
    launch_batch(&core.ctld, j, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_count(nodes[0], OP_LAUNCH_BATCH), 0);
    coreask_end(&core);
}

/* PrologFlags=Alloc: the other nodes prepare the job at once. */
static void test_prepare(void **state)
{
    struct told t;
    struct job *j;

    (void)state;
    begin("Prolog=/bin/true\nPrologFlags=Alloc\n");
    j = run_on(four, one, 3, batch);
    launch_batch(&core.ctld, j, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_count(nodes[0], OP_LAUNCH_BATCH), 1);
    assert_int_equal(coreask_count(nodes[0], OP_PREPARE_JOB), 0);
    t = coreask_take(nodes[2], OP_PREPARE_JOB);
    assert_non_null(t.conn);
    assert_int_equal(((const Pst__PrepareJob *)t.msg)->job->node_index, 2);
    assert_int_equal(((const Pst__PrepareJob *)t.msg)->job->mem_mib, 102);
    drop_told(&t);
    coreask_end(&core);
}

/* A job that was stopped on its way is stopped there. */
static void test_suspended(void **state)
{
    struct told t;
    struct job *j;

    (void)state;
    begin("");
    j = run_on(four, one, 1, batch);
    set_state(core.ctld.cluster, 7, JOB_STATE(SUSPENDED), 0);
    launch_batch(&core.ctld, j, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_count(nodes[0], OP_LAUNCH_BATCH), 1);
    t = coreask_take(nodes[0], OP_SIGNAL_STEPS);
    assert_non_null(t.conn);
    assert_true(((const Pst__SignalSteps *)t.msg)->suspend);
    assert_true(((const Pst__SignalSteps *)t.msg)->include_batch);
    drop_told(&t);
    coreask_end(&core);
}

/* A signal goes to all nodes of the job; nodes of an external job know nothing of it. */
static void test_signal(void **state)
{
    Pst__SignalSteps sig = PST__SIGNAL_STEPS__INIT;
    struct told t;
    struct job *j;

    (void)state;
    begin("");
    j = run_on(four, one, 2, batch);
    SET(&sig, signal, 10);
    launch_signal(&core.ctld, j, 0, &sig);
    coreask_settle(&core);
    t = coreask_take(nodes[1], OP_SIGNAL_STEPS);
    assert_non_null(t.conn);
    assert_int_equal(((const Pst__SignalSteps *)t.msg)->job_id, 7);
    assert_int_equal(((const Pst__SignalSteps *)t.msg)->run_id, 4711);
    assert_int_equal(((const Pst__SignalSteps *)t.msg)->signal, 10);
    drop_told(&t);
    assert_int_equal(coreask_count(nodes[2], OP_SIGNAL_STEPS), 0);
    coreask_forget();
    SET(j->rec, external, true);
    launch_signal(&core.ctld, j, 0, &sig);
    coreask_settle(&core);
    assert_int_equal(coreask_count(nodes[0], OP_SIGNAL_STEPS), 0);
    coreask_end(&core);
}

/* The end, with KillWait and what the job's standard error is told. */
static void test_terminate(void **state)
{
    const Pst__TerminateJob *msg;
    struct told t;
    struct job *j;

    (void)state;
    begin("KillWait=17\n");
    j = run_on(four, one, 2, batch);
    launch_terminate(&core.ctld, j, core.ctld.cluster->nodes[1], 1, 0, "DUE TO TIME LIMIT");
    coreask_settle(&core);
    t = coreask_take(nodes[1], OP_TERMINATE_JOB);
    assert_non_null(t.conn);
    msg = (const Pst__TerminateJob *)t.msg;
    assert_int_equal(msg->job_id, 7);
    assert_int_equal(msg->run_id, 4711);
    assert_int_equal(msg->kill_wait_s, 17);
    assert_string_equal(msg->reason, "DUE TO TIME LIMIT");
    assert_int_equal(msg->job->node_index, 1);
    drop_told(&t);
    coreask_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),    cmocka_unit_test(test_batch),
        cmocka_unit_test(test_not_yet),   cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_suspended), cmocka_unit_test(test_signal),
        cmocka_unit_test(test_terminate),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
