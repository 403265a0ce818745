/* test_prologsteps.c - a job is ready when the prologs of all its nodes are done */
#include "core_util.h"

#include "ctld/job/prologs.h"

extern const struct ctld_service prologs_service;

static struct core core;

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "Prolog=/bin/true\nPrologFlags=Alloc\n", &prologs_service);
    core_nodes(&core, 3, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

/* An allocation of n0 to n2 that waits for their prologs. */
static struct job *waiting(uint32_t id, uint32_t flags)
{
    struct job *j = core_job(&core, id, NULL);
    Pst__Transaction *tx;
    Pst__JobRecord *set = core_start(id, 3, &tx);

    SET(set, state_flags, flags);
    SET(set, node_prologs, true);
    apply_ok(core.ctld.cluster, tx);
    return j;
}

static void done(uint32_t node, uint32_t job, uint64_t run)
{
    Pst__RunningStep s = PST__RUNNING_STEP__INIT;

    SET(&s, job_id, job);
    SET(&s, run_id, run);
    prologs_done(&core.ctld, cluster_node(core.ctld.cluster, node), &s);
}

static void test_all(void **state)
{
    struct job *j = waiting(7, 0);

    (void)state;
    done(0, 7, j->rec->db_id);
    done(1, 7, j->rec->db_id);
    done(1, 7, j->rec->db_id); /* it says so again */
    assert_true(job_awaits_node_prologs(j->rec));
    done(2, 7, j->rec->db_id);
    assert_false(job_awaits_node_prologs(j->rec));
}

/* What is said of another run of the job, of no job, or by a node it has not, is no word of this
 * one. */
static void test_others(void **state)
{
    struct job *j = waiting(7, 0);

    (void)state;
    done(0, 7, j->rec->db_id + 1);
    done(0, 99, j->rec->db_id);
    prologs_passed(&core.ctld, j, 55);
    done(1, 7, j->rec->db_id);
    done(2, 7, j->rec->db_id);
    assert_true(job_awaits_node_prologs(j->rec)); /* node 0 has said nothing of it */
    prologs_passed(&core.ctld, j, 0);             /* it is lost, and the job goes on without it */
    assert_false(job_awaits_node_prologs(j->rec));
}

/* A job that an older release started is CONFIGURING until then. */
static void test_configuring(void **state)
{
    struct job *j = waiting(7, JOB_FLAG(CONFIGURING));

    (void)state;
    for (uint32_t node = 0; node < 3; node++)
        prologs_passed(&core.ctld, j, node);
    assert_false(job_has_flag(j->rec, JOB_FLAG(CONFIGURING)));
}

/* The allocation has become smaller: all are asked again. */
static void test_resized(void **state)
{
    struct job *j = waiting(7, 0);

    (void)state;
    prologs_passed(&core.ctld, j, 0);
    assert_false(prologs_await(&core.ctld, j, 0));
    prologs_resized(&core.ctld, j, 0);
    assert_true(prologs_await(&core.ctld, j, 0));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = { ROW(test_all), ROW(test_others), ROW(test_configuring),
                                        ROW(test_resized) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
