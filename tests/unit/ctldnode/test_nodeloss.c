/* test_nodeloss.c - a node is lost: what it held ends, is queued again, or goes on without it */
#include "corefull_util.h"

#include "ctld/job/cleaning.h"
#include "ctld/job/jobfacts.h"
#include "ctld/node/nodeloss.h"

extern const struct ctld_service nodeloss_service;

static struct node *node(uint32_t id)
{
    return core.ctld.cluster->nodes[id];
}

static bool runs(const struct job *j)
{
    return job_state(j->rec) == JOB_STATE(RUNNING) && !job_is_ended(j->rec);
}

static void batch(Pst__JobRecord *r)
{
    SET(r, batch, true);
}

static void requeues(Pst__JobRecord *r)
{
    SET(r, batch, true);
    SET(r, requeue, true);
}

static void no_kill(Pst__JobRecord *r)
{
    SET(r, no_kill, true);
}

static void no_kill_batch(Pst__JobRecord *r)
{
    SET(r, no_kill, true);
    SET(r, batch, true);
    assert_int_equal(pb_set_str(&r->batch_host, "n0"), 0);
}

static void interactive(Pst__JobRecord *r)
{
    SET(r, requeue, true); /* srun and salloc: nobody could start them again */
}

/* What becomes of the job on the lost node. */
static const struct {
    void (*with)(Pst__JobRecord *r);
    uint32_t nodes, lost;
    const char *lines;
    bool boot; /* the node was powered up for it, and did not come */
    enum { FAILS, AGAIN, GOES_ON } want;
} rows[] = {
    { batch, 1, 0, "", false, FAILS },
    { requeues, 1, 0, "", false, AGAIN },
    { interactive, 1, 0, "", false, FAILS },
    { no_kill, 2, 1, "", false, GOES_ON },
    { no_kill, 1, 0, "", false, FAILS },       /* nothing is left of it */
    { no_kill_batch, 2, 0, "", false, FAILS }, /* its script is lost */
    { no_kill_batch, 2, 1, "", false, GOES_ON },
    { batch, 2, 1, "", true, FAILS },
    { batch, 2, 1, "SchedulerParameters=requeue_on_resume_failure\n", true, AGAIN },
    { batch, 2, 1, "SchedulerParameters=requeue_on_resume_failure\n", false, FAILS },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct job *j;

        corefull_begin(rows[i].lines, 2);
        j = corefull_run(7, rows[i].nodes, rows[i].with);
        if (rows[i].boot)
            nodeloss_boot_failed(&core.ctld, node(rows[i].lost));
        else
            nodeloss_end_jobs(&core.ctld, node(rows[i].lost), "test");
        j = cluster_job(core.ctld.cluster, 7);
        assert_non_null(j);
        if ((rows[i].want == GOES_ON) != runs(j) ||
            (rows[i].want == AGAIN) != (job_is_pending(j->rec) || job_comes_back(j->rec)))
            fail_msg("row %zu: state %d, flags %#x", i, (int)job_state(j->rec),
                     j->rec->state_flags);
        if (rows[i].want == FAILS) {
            assert_int_equal(job_state(j->rec), JOB_STATE(NODE_FAIL));
            assert_int_equal(j->rec->reason, PST__JOB_REASON__REASON_NODE_DOWN);
            assert_string_equal(j->rec->failed_node, rows[i].lost ? "n1" : "n0");
        }
        if (rows[i].want == GOES_ON)
            assert_int_equal(j->rec->alloc->n_node_ids, 1);
        corefull_end();
    }
}

/* The lost node is not waited for, the others of the job are. */
static void test_cleaning(void **state)
{
    struct job *j;

    (void)state;
    corefull_begin("", 2);
    j = corefull_run(7, 2, batch);
    nodeloss_end_jobs(&core.ctld, node(0), "test");
    assert_true(job_has_flag(j->rec, JOB_FLAG(COMPLETING)));
    assert_false(cleaning_awaits(&core.ctld, j, 0));
    assert_true(cleaning_awaits(&core.ctld, j, 1));
    nodeloss_end_jobs(&core.ctld, node(1), "test"); /* now that, too */
    assert_false(job_has_flag(j->rec, JOB_FLAG(COMPLETING)));
    assert_false(job_holds_resources(j->rec));
    corefull_end();
}

/* With a component ends all of its job; jobs of other nodes do not. */
static void test_component(void **state)
{
    struct job *lead, *other, *apart;
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("", 3);
    lead = corefull_run(7, 1, core_component);
    other = core_job(&core, 8, core_component);
    core_start(8, 1, &tx)->alloc->node_ids[0] = 1;
    apply_ok(core.ctld.cluster, tx);
    apart = core_job(&core, 9, NULL);
    core_start(9, 1, &tx)->alloc->node_ids[0] = 2;
    apply_ok(core.ctld.cluster, tx);
    nodeloss_end_jobs(&core.ctld, node(1), "test");
    assert_int_equal(job_state(other->rec), JOB_STATE(NODE_FAIL));
    assert_int_equal(job_state(lead->rec), JOB_STATE(NODE_FAIL));
    assert_true(runs(apart));
    corefull_end();
}

static void keeps(Pst__JobRecord *r)
{
    SET(r, external, true);
    SET(r, keeps_nodes, true);
}

/* Nobody knows whether what an external job started there has ended: an administrator says so. */
static void test_kept(void **state)
{
    struct job *j;

    (void)state;
    corefull_begin("", 1);
    j = corefull_run(7, 1, keeps);
    nodeloss_end_jobs(&core.ctld, node(0), "test");
    assert_true(job_is_ended(j->rec));
    assert_true(job_holds_resources(j->rec));
    nodeloss_by_hand(&core.ctld, node(0), "test");
    assert_false(job_holds_resources(j->rec));
    corefull_end();
}

static void in_two(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->partition, "q,p"), 0);
}

static void in_q(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->partition, "q"), 0);
}

/* A partition goes: jobs that may go elsewhere stay, others end; and they are not queued again. */
static void test_partition_gone(void **state)
{
    struct job *two, *only, *waits;
    Pst__Transaction *tx;

    (void)state;
    corefull_begin("", 1);
    core.ctld.cluster->nodes[0]->rec->state_flags |= 1u << PST__NODE_FLAG__NODE_FLAG_DYNAMIC_NORM;
    tx = tx_new(T0);
    (void)put_part(tx, "q", "n0");
    apply_ok(core.ctld.cluster, tx);
    two = core_job(&core, 1, in_two);
    only = corefull_run(2, 1, in_q);
    waits = core_job(&core, 3, in_q);
    tx = tx_new(T0);
    tx_part_remove(tx, "q");
    apply_ok(core.ctld.cluster, tx);
    nodeloss_service.reconfigured(&core.ctld);
    assert_true(job_is_pending(two->rec));
    assert_int_equal(job_state(only->rec), JOB_STATE(NODE_FAIL));
    assert_int_equal(job_state(waits->rec), JOB_STATE(NODE_FAIL));
    assert_int_equal(waits->rec->reason, PST__JOB_REASON__REASON_PARTITION_DOWN);
    corefull_end();
}

/* A node that is no more in slurm.conf takes its jobs with it, requeue or not; a dynamic one that
 * never was there does not. */
static void test_node_gone(void **state)
{
    (void)state;
    for (int dynamic = 0; dynamic < 2; dynamic++) {
        struct job *j;

        corefull_begin("", 1); /* slurm.conf has the node n alone */
        if (dynamic)
            node(0)->rec->state_flags |= 1u << PST__NODE_FLAG__NODE_FLAG_DYNAMIC_NORM;
        j = corefull_run(7, 1, requeues);
        nodeloss_service.reconfigured(&core.ctld);
        j = cluster_job(core.ctld.cluster, 7);
        assert_int_equal(job_state(j->rec), dynamic ? JOB_STATE(RUNNING) : JOB_STATE(NODE_FAIL));
        assert_false(job_comes_back(j->rec));
        corefull_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_cleaning),
        cmocka_unit_test(test_component),      cmocka_unit_test(test_kept),
        cmocka_unit_test(test_partition_gone), cmocka_unit_test(test_node_gone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
