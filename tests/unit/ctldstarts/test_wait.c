/* test_wait.c - requests that are answered later: what a client that waits is told, and when
 *
 * The words for --immediate are those of recordings of srun -I and salloc -I. */
#include "stepcore_util.h"

#include "ctld/starts/wait.h"

static struct conn *ann;

static void begin(void)
{
    stepcore_begin("", 2);
    ann = coreask_connect(1000);
}

static void end(void)
{
    ann = coreask_part(&core, ann);
    coreask_end(&core);
}

/* ann asked for the job and waits: for its start, or for its end. */
static uint64_t enter(struct job *j, bool until_started, uint32_t immediate_s,
                      const Pst__StepSpec *step)
{
    const struct cmd cmd = { .conn = ann, .op = OP_JOB_SUBMIT, .id = 1, .uid = 1000 };

    return wait_add(&core.ctld, &cmd, j, until_started, immediate_s, step);
}

static bool told(struct told *ret)
{
    coreask_settle(&core);
    *ret = coreask_take(ann, OP_JOB_SUBMIT);
    return ret->conn != NULL;
}

static const Pst__JobStatus *status_of(const struct told *t)
{
    assert_false(t->flags & FRAME_ERROR);
    return (const Pst__JobStatus *)t->msg;
}

#define assert_quiet()                                                                             \
    do {                                                                                           \
        struct told aq_;                                                                           \
                                                                                                   \
        assert_false(told(&aq_));                                                                  \
    } while (0)

/* Pending at once, the grant with its nodes when it starts, the end as the last frame. */
static void test_life(void **state)
{
    Pst__Transaction *tx;
    struct told t;
    struct job *j;

    (void)state;
    begin();
    j = core_job(&core, 7, NULL);
    assert_true(enter(j, true, 0, NULL));
    SET(j->rec, pend_reason, PST__JOB_REASON__REASON_RESOURCES);
    assert_int_equal(pb_set_str(&j->rec->pend_text, "no free block"), 0);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_true(t.flags & FRAME_MORE);
    assert_int_equal(status_of(&t)->job_id, 7);
    assert_int_equal(status_of(&t)->state, JOB_STATE(PENDING));
    assert_int_equal(status_of(&t)->reason, PST__JOB_REASON__REASON_RESOURCES);
    assert_string_equal(status_of(&t)->waits_for, "no free block");
    assert_null(status_of(&t)->job);
    drop_told(&t);

    (void)core_start(7, 2, &tx);
    apply_ok(core.ctld.cluster, tx);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_true(t.flags & FRAME_MORE);
    assert_int_equal(status_of(&t)->state, JOB_STATE(RUNNING));
    assert_int_equal(status_of(&t)->job->alloc->n_node_ids, 2);
    assert_int_equal(status_of(&t)->n_nodes, 2);
    assert_true(status_of(&t)->launched);
    assert_null(status_of(&t)->step);
    drop_told(&t);
    wait_notify(&core.ctld, j, 0); /* nothing new */
    assert_quiet();

    end_job(core.ctld.cluster, 7, JOB_STATE(COMPLETED), T0 + SEC, false);
    SET(j->rec, exit_status, 3 << 8);
    SET(j->rec, reason, PST__JOB_REASON__REASON_NON_ZERO_EXIT_CODE);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_false(t.flags & FRAME_MORE);
    assert_int_equal(status_of(&t)->exit_status, 3 << 8);
    assert_int_equal(status_of(&t)->reason, PST__JOB_REASON__REASON_NON_ZERO_EXIT_CODE);
    drop_told(&t);
    wait_notify(&core.ctld, j, 0);
    assert_quiet();
    end();
}

/* The step asked for with the allocation comes with the grant, once the nodes are ready; until
 * then the client hears that it has the nodes, once. */
static void test_ready(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    struct told t;
    struct job *j;

    (void)state;
    stepcore_begin("Prolog=/bin/true\nPrologFlags=Alloc\n", 2);
    ann = coreask_connect(1000);
    j = core_job(&core, 7, NULL);
    SET(&spec, num_tasks, 3);
    (void)enter(j, true, 0, &spec);
    set = core_start(7, 2, &tx);
    SET(set, node_prologs, true);
    SET(set, prolog_pending, true);
    apply_ok(core.ctld.cluster, tx);
    wait_notify(&core.ctld, j, 0); /* PrologSlurmctld runs: no client is told of the grant */
    assert_true(told(&t));
    assert_null(status_of(&t)->job);
    drop_told(&t);
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 7), prolog_pending, false);
    apply_ok(core.ctld.cluster, tx);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_non_null(status_of(&t)->job);
    assert_false(status_of(&t)->launched);
    assert_null(status_of(&t)->step);
    drop_told(&t);
    wait_notify(&core.ctld, j, 0); /* one of the two prologs is done */
    assert_quiet();
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 7), node_prologs, false);
    apply_ok(core.ctld.cluster, tx);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_true(status_of(&t)->launched);
    assert_non_null(status_of(&t)->step);
    assert_int_equal(status_of(&t)->step->step->num_tasks, 3);
    assert_non_null(status_of(&t)->step->credential);
    drop_told(&t);
    assert_int_equal(stepcore_record(j, 0)->num_tasks, 3);
    end();
}

static void is_batch(Pst__JobRecord *r)
{
    SET(r, batch, true);
}

/* sbatch --wait hears of the end alone: when the nodes are clean, for the script's own code; of a
 * requeued job only its last run. */
static void test_batch(void **state)
{
    struct told t;
    struct job *j;

    (void)state;
    begin();
    j = stepcore_job(7, 1, is_batch);
    (void)enter(j, false, 0, NULL);
    wait_notify(&core.ctld, j, 0);
    assert_quiet();
    set_state(core.ctld.cluster, 7, JOB_STATE(CANCELLED),
              JOB_FLAG(COMPLETING) | JOB_FLAG(REQUEUED));
    wait_notify(&core.ctld, j, 0);
    assert_quiet();
    end_job(core.ctld.cluster, 7, JOB_STATE(CANCELLED), T0 + SEC, false);
    wait_notify(&core.ctld, j, 0);
    assert_quiet(); /* its script goes on */
    SET(j->rec, exit_status, 3 << 8);
    clean_job(core.ctld.cluster, 7);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_int_equal(status_of(&t)->exit_status, 3 << 8);
    assert_false(t.flags & FRAME_MORE);
    drop_told(&t);
    end();
}

/* Who waits for an array is told once, with the highest code, when its last task is over. */
static void test_array(void **state)
{
    const struct cmd cmd = { .op = OP_JOB_WAIT, .id = 1, .uid = 1000 };
    struct cmd asks = cmd;
    struct told t;
    struct job *one, *two;

    (void)state;
    begin();
    asks.conn = ann;
    add_task(core.ctld.cluster, 10, 10, 0, NULL);
    add_task(core.ctld.cluster, 11, 10, 1, NULL);
    one = cluster_job(core.ctld.cluster, 10);
    two = cluster_job(core.ctld.cluster, 11);
    wait_add_array(&core.ctld, &asks, 10);
    SET(two->rec, exit_status, 5 << 8);
    end_job(core.ctld.cluster, 11, JOB_STATE(FAILED), T0 + SEC, true);
    wait_notify(&core.ctld, two, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_count(ann, OP_JOB_WAIT), 0);
    SET(one->rec, exit_status, 2 << 8);
    end_job(core.ctld.cluster, 10, JOB_STATE(FAILED), T0 + 2 * SEC, true);
    wait_notify(&core.ctld, one, 0);
    coreask_settle(&core);
    t = coreask_take(ann, OP_JOB_WAIT);
    assert_non_null(t.conn);
    assert_int_equal(status_of(&t)->job_id, 10);
    assert_int_equal(status_of(&t)->exit_status, 5 << 8);
    drop_told(&t);
    end();
}

/* Lines of the site's filters go with the next frame, once. */
static void test_message(void **state)
{
    uint64_t ticket;
    struct told t;
    struct job *j;

    (void)state;
    begin();
    j = core_job(&core, 7, NULL);
    ticket = enter(j, true, 0, NULL);
    wait_message(&core.ctld, ticket, "mind the quota\n");
    wait_message(&core.ctld, ticket, "");  /* none */
    wait_message(&core.ctld, 999, "lost"); /* nobody waits */
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_string_equal(status_of(&t)->message, "mind the quota\n");
    drop_told(&t);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    assert_null(status_of(&t)->message);
    drop_told(&t);
    end();
}

/* ---- --immediate ----------------------------------------------------------------------------- */

#define WHY(reason) PST__JOB_REASON__REASON_##reason

static const struct {
    uint32_t seconds; /* 1: --immediate alone */
    Pst__JobReason why;
    int code;
} gives_up[] = {
    { 1, WHY(RESOURCES), ESLURM_NODES_BUSY },
    { 1, WHY(PRIORITY), ESLURM_IMMEDIATE },
    { 1, WHY(ASSOC_GRP_CPU), ESLURM_ACCOUNTING_POLICY },
    { 1, WHY(QOS_USAGE_THRESHOLD), ESLURM_ACCOUNTING_POLICY },
    { 1, WHY(PARTITION_NODE_LIMIT), ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE },
    { 1, WHY(PARTITION_DOWN), ESLURM_PARTITION_DOWN },
    { 1, WHY(DEPENDENCY), ESLURM_DEPENDENCY },
    { 2, WHY(RESOURCES), ESLURM_NODES_BUSY },
    { 3, WHY(ASSOC_GRP_CPU), ESLURM_NODES_BUSY },
};

static void test_immediate(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gives_up); i++) {
        int64_t asked_us = now_us();
        struct told t;
        struct job *j;

        begin();
        j = core_job(&core, 7, NULL);
        (void)enter(j, true, gives_up[i].seconds, NULL);
        SET(j->rec, pend_reason, gives_up[i].why);
        wait_tick(&core.ctld, asked_us + gives_up[i].seconds * SEC - 1);
        assert_quiet();
        wait_tick(&core.ctld, now_us() + gives_up[i].seconds * SEC);
        assert_true(told(&t));
        assert_true(t.flags & FRAME_ERROR);
        if (((const Pst__Error *)t.msg)->code != gives_up[i].code)
            fail_msg("row %zu: %d", i, (int)((const Pst__Error *)t.msg)->code);
        drop_told(&t);
        /* the job does not stay: it has failed, or its client has cancelled it */
        assert_int_equal(job_state(j->rec),
                         gives_up[i].seconds == 1 ? JOB_STATE(FAILED) : JOB_STATE(CANCELLED));
        end();
    }
}

/* One that started in time is not given up. */
static void test_in_time(void **state)
{
    Pst__Transaction *tx;
    struct told t;
    struct job *j;

    (void)state;
    begin();
    j = core_job(&core, 7, NULL);
    (void)enter(j, true, 1, NULL);
    (void)core_start(7, 1, &tx);
    apply_ok(core.ctld.cluster, tx);
    wait_notify(&core.ctld, j, 0);
    assert_true(told(&t));
    drop_told(&t);
    wait_tick(&core.ctld, now_us() + 10 * SEC);
    assert_quiet();
    assert_int_equal(job_state(j->rec), JOB_STATE(RUNNING));
    end();
}

/* ---- who waits no more ----------------------------------------------------------------------- */

/* Several wait for one job; whoever goes leaves the others where they are. */
static void test_gone(void **state)
{
    struct conn *others[3];
    uint64_t tickets[3];
    struct job *j;

    (void)state;
    begin();
    j = core_job(&core, 7, NULL);
    for (size_t i = 0; i < 3; i++) {
        struct cmd cmd = { .op = OP_JOB_WAIT, .id = 1 };

        others[i] = coreask_connect(1000);
        cmd.conn = others[i];
        tickets[i] = wait_add(&core.ctld, &cmd, j, false, 0, NULL);
    }
    coreask_hang_up(&core, others[1]); /* from the middle of the list */
    assert_non_null(wait_find(&core.ctld, tickets[0]));
    assert_null(wait_find(&core.ctld, tickets[1]));
    assert_non_null(wait_find(&core.ctld, tickets[2]));
    coreask_hang_up(&core, others[2]); /* its head */
    end_job(core.ctld.cluster, 7, JOB_STATE(CANCELLED), T0 + SEC, true);
    wait_notify(&core.ctld, j, 0);
    coreask_settle(&core);
    assert_int_equal(coreask_count(others[0], OP_JOB_WAIT), 1);
    assert_int_equal(coreask_count(others[1], OP_JOB_WAIT), 0);
    assert_null(wait_find(&core.ctld, tickets[0]));
    coreask_forget();
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(others[i]->refs, 1);
        others[i] = conn_unref(others[i]);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),    cmocka_unit_test(test_ready),
        cmocka_unit_test(test_batch),   cmocka_unit_test(test_array),
        cmocka_unit_test(test_message), cmocka_unit_test(test_immediate),
        cmocka_unit_test(test_in_time), cmocka_unit_test(test_gone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
