/* test_jobchange.c - a change of one job by an administrator: what is refused in which state, what
 * the job would be, and what follows in the same patch */
#include "model_util.h"

#include "ctld/schedlink/feasible.h"
#include "ctld/update/changecheck.h"
#include "ctld/update/changecopy.h"
#include "ctld/update/changeimply.h"

static struct ctld ctld;
static struct cmd cmd; /* the controller's own: no connection */

/* Job 1 waits, 2 runs since T0 for an hour, 3 has ended. */
static int setup(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\n"
                               "NodeName=n0 CPUs=8\nPartitionName=all Nodes=n0\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    ctld = (struct ctld){ .cluster = new_cluster() };
    if (conf_load_text(&file, 1, CONF_FULL, &ctld.conf, NULL, NULL) < 0 ||
        feasible_new(&ctld.feasible) < 0)
        return -1;
    put_node(tx, 0, "n0", 8);
    put_part(tx, "all", "n0");
    for (uint32_t id = 1; id <= 3; id++) {
        Pst__JobRecord *r = put_job(tx, id);

        SET(r, time_limit_min, 60);
        SET(r, mem_per_cpu_mib, 100);
        (void)pb_set_str(&r->partition, "all");
    }
    apply_ok(ctld.cluster, tx);
    start_job(ctld.cluster, 2, make_alloc(0, 1, 1, 100), T0);
    start_job(ctld.cluster, 3, make_alloc(0, 1, 1, 100), T0);
    end_job(ctld.cluster, 3, JOB_STATE(COMPLETED), T0 + SEC, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    feasible_free(ctld.feasible);
    conf_free(ctld.conf);
    cluster_free(ctld.cluster);
    return 0;
}

static int check(uint32_t job, Pst__JobRecord *set, uint32_t clear)
{
    Pst__JobUpdateRequest req = PST__JOB_UPDATE_REQUEST__INIT;
    const struct job_change c = { .ctld = &ctld, .cmd = &cmd, .req = &req };

    req.set = set;
    req.clear = &clear;
    req.n_clear = clear != 0;
    return change_check(&c, cluster_job(ctld.cluster, job));
}

static void test_fields_by_state(void **state)
{
    Pst__JobRecord name = PST__JOB_RECORD__INIT, tasks = PST__JOB_RECORD__INIT,
                   kept = PST__JOB_RECORD__INIT, late = PST__JOB_RECORD__INIT,
                   throttle = PST__JOB_RECORD__INIT, nodes = PST__JOB_RECORD__INIT;

    (void)state;
    name.name = (char *)"new";
    SET(&tasks, ntasks_per_node, 2);
    SET(&kept, submit_us, T0); /* nobody's to change */
    SET(&late, deadline_us, 1);
    SET(&throttle, array_task_throttle, 2);
    nodes.exc_nodes = (char *)"nosuch";
    assert_int_equal(check(1, &name, 0), 0);
    assert_int_equal(check(2, &name, 0), 0);
    assert_int_equal(check(3, &name, 0), ESLURM_JOB_FINISHED);
    assert_int_equal(check(1, &tasks, 0), 0);
    assert_int_equal(check(2, &tasks, 0), ESLURM_JOB_NOT_PENDING);
    assert_int_equal(check(3, &tasks, 0), ESLURM_JOB_FINISHED);
    assert_int_equal(check(1, &kept, 0), ESLURM_NOT_SUPPORTED);
    assert_int_equal(check(1, &late, 0), ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(check(1, &throttle, 0), ESLURM_NOT_SUPPORTED); /* no array */
    assert_int_equal(check(1, &nodes, 0), ESLURM_INVALID_NODE_NAME);
}

static void test_cleared(void **state)
{
    (void)state;
    assert_int_equal(check(1, NULL, JOB_F_ACCOUNT), ESLURM_INVALID_ACCOUNT);
    assert_int_equal(check(1, NULL, JOB_F_PARTITION), ESLURM_INVALID_PARTITION_NAME);
    assert_int_equal(check(1, NULL, JOB_F_SUBMIT_US), ESLURM_NOT_SUPPORTED);
    assert_int_equal(check(1, NULL, JOB_F_COMMENT), 0);
    assert_int_equal(check(3, NULL, JOB_F_TIME_LIMIT_MIN), ESLURM_JOB_FINISHED);
}

/* The patch of a job, with what follows; the caller frees the transaction. */
static Pst__JobRecord *implied(uint32_t job, const Pst__JobRecord *set, Pst__Transaction **ret_tx)
{
    Pst__JobUpdateRequest req = PST__JOB_UPDATE_REQUEST__INIT;
    const struct job_change c = { .ctld = &ctld, .cmd = &cmd, .req = &req };
    Pst__JobRecord *patch;

    req.set = (Pst__JobRecord *)set;
    *ret_tx = tx_new(T0);
    patch = tx_job_patch(*ret_tx, EV(JOB_UPDATE), job);
    assert_int_equal(pb_merge(&patch->base, &set->base), 0);
    change_imply(&c, *ret_tx, cluster_job(ctld.cluster, job), patch);
    return patch;
}

static void test_what_follows(void **state)
{
    Pst__JobRecord limit = PST__JOB_RECORD__INIT, memory = PST__JOB_RECORD__INIT,
                   held = PST__JOB_RECORD__INIT;
    Pst__Transaction *tx;
    Pst__JobRecord *patch;

    (void)state;
    SET(&limit, time_limit_min, 90);
    patch = implied(2, &limit, &tx);
    assert_true(patch->end_us == T0 + 90 * 60 * SEC); /* a job that runs ends later */
    tx_free(tx);
    patch = implied(1, &limit, &tx);
    assert_false(patch->has_end_us);
    tx_free(tx);

    SET(&memory, mem_per_node_mib, 500);
    (void)implied(1, &memory, &tx);
    apply_ok(ctld.cluster, tx);
    assert_false(cluster_job(ctld.cluster, 1)->rec->has_mem_per_cpu_mib); /* one of the two */
    assert_true(cluster_job(ctld.cluster, 1)->rec->mem_per_node_mib == 500);

    SET(&held, priority, 0);
    patch = implied(1, &held, &tx);
    assert_int_equal(patch->reason, PST__JOB_REASON__REASON_JOB_HELD_ADMIN);
    assert_false(patch->held_by_user);
    tx_free(tx);
}

static void test_copy(void **state)
{
    Pst__JobUpdateRequest req = PST__JOB_UPDATE_REQUEST__INIT;
    const struct job_change c = { .ctld = &ctld, .cmd = &cmd, .req = &req };
    const struct job *j = cluster_job(ctld.cluster, 1);
    Pst__JobRecord set = PST__JOB_RECORD__INIT, *copy = NULL;
    uint32_t label = JOB_F_MCS_LABEL;

    (void)state;
    set.qos = (char *)"any"; /* no record of accounting: nothing is looked up */
    assert_int_equal(change_reassociate(&c, j->rec, &set, &copy), 0);
    assert_string_equal(copy->partition, "all");
    assert_null(j->rec->qos); /* the job itself is as it was */
    pst__job_record__free_unpacked(copy, NULL);

    assert_false(change_labels(&c, &set));
    set.mcs_label = (char *)"red";
    assert_true(change_labels(&c, &set));
    set.mcs_label = NULL;
    req.clear = &label;
    req.n_clear = 1;
    assert_true(change_labels(&c, &set));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fields_by_state, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cleared, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_follows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copy, setup, teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
