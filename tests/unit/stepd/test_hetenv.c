/* test_hetenv.c - the variables of the components of a heterogeneous job */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "stepd/env/env.h"
#include "stepd/env/envlist.h"

/* Component k on `nodes` nodes of 2 CPUs. */
struct component {
    Pst__JobRecord job;
    Pst__Alloc alloc;
    Pst__AllocGroup group, *groups[1];
};

static void make_component(struct component *c, uint32_t k, uint32_t nodes)
{
    *c = (struct component){ .job = PST__JOB_RECORD__INIT,
                             .alloc = PST__ALLOC__INIT,
                             .group = PST__ALLOC_GROUP__INIT };
    c->group.nodes = nodes;
    c->group.cpus = 2;
    c->group.tasks = 2;
    c->groups[0] = &c->group;
    c->alloc.groups = c->groups;
    c->alloc.n_groups = 1;
    c->alloc.nodes = (char *)(k ? "n[3-4]" : "n1");
    c->job.job_id = 100 + k;
    c->job.het_count = 2;
    c->job.het_offset = k;
    c->job.partition = (char *)(k ? "gpu" : "cpu");
    c->job.alloc = &c->alloc;
}

static void expect_var(const struct envlist *el, const char *name, const char *want)
{
    const char *got = envlist_get(el, name);

    if (!want) {
        assert_null(got);
        return;
    }
    if (!got)
        fail_msg("no %s", name);
    assert_string_equal(got, want);
}

static void test_components(void **state)
{
    struct component a, b;
    Pst__JobRecord *jobs[] = { &a.job, &b.job };
    struct envlist el = ENVLIST_INIT;

    (void)state;
    make_component(&a, 0, 1);
    make_component(&b, 1, 2);
    b.job.has_ntasks_per_node = b.job.has_cpus_per_task = b.job.has_mem_per_cpu_mib = true;
    b.job.ntasks_per_node = 2;
    b.job.cpus_per_task = 3;
    b.job.mem_per_cpu_mib = 512;
    b.job.account = (char *)"physics";
    envlist_set(&el, "SLURM_JOB_ID_HET_GROUP_7", "1"); /* of a job around the submission */
    envlist_set(&el, "SLURM_JOB_ID_PACK_GROUP_7", "1");
    env_het(&el, jobs, 2);
    assert_non_null(envlist_array(&el));
    expect_var(&el, "SLURM_HET_SIZE", "2");
    expect_var(&el, "SLURM_PACK_SIZE", "2");
    expect_var(&el, "SLURM_JOB_ID_HET_GROUP_7", NULL);
    expect_var(&el, "SLURM_JOB_ID_PACK_GROUP_7", NULL);
    expect_var(&el, "SLURM_JOB_ID_HET_GROUP_0", "100");
    expect_var(&el, "SLURM_JOB_ID_PACK_GROUP_1", "101");
    expect_var(&el, "SLURM_JOB_NODELIST_HET_GROUP_0", "n1");
    expect_var(&el, "SLURM_JOB_NODELIST_HET_GROUP_1", "n[3-4]");
    expect_var(&el, "SLURM_JOB_NUM_NODES_HET_GROUP_1", "2");
    expect_var(&el, "SLURM_JOB_PARTITION_HET_GROUP_1", "gpu");
    expect_var(&el, "SLURM_TASKS_PER_NODE_HET_GROUP_0", "2");
    expect_var(&el, "SLURM_TASKS_PER_NODE_HET_GROUP_1", "2(x2)");
    expect_var(&el, "SLURM_NTASKS_HET_GROUP_0", NULL); /* it was not asked for */
    expect_var(&el, "SLURM_NTASKS_HET_GROUP_1", "4");
    expect_var(&el, "SLURM_NPROCS_HET_GROUP_1", "4");
    expect_var(&el, "SLURM_CPUS_PER_TASK_HET_GROUP_0", NULL);
    expect_var(&el, "SLURM_CPUS_PER_TASK_HET_GROUP_1", "3");
    expect_var(&el, "SLURM_TRES_PER_TASK_HET_GROUP_1", "cpu=3");
    expect_var(&el, "SLURM_MEM_PER_CPU_HET_GROUP_1", "512");
    expect_var(&el, "SLURM_MEM_PER_NODE_HET_GROUP_1", NULL);
    expect_var(&el, "SLURM_JOB_ACCOUNT_HET_GROUP_1", "physics");
    expect_var(&el, "SLURM_JOB_QOS_HET_GROUP_1", NULL);
    envlist_done(&el);
}

/* A component without nodes has no variables; a job without components takes those out that came
 * along. */
static void test_missing(void **state)
{
    struct component a, b;
    Pst__JobRecord *jobs[] = { &a.job, &b.job };
    struct envlist el = ENVLIST_INIT;

    (void)state;
    make_component(&a, 0, 1);
    make_component(&b, 1, 1);
    b.job.alloc = NULL;
    env_het(&el, jobs, 2);
    expect_var(&el, "SLURM_JOB_ID_HET_GROUP_0", "100");
    expect_var(&el, "SLURM_JOB_ID_HET_GROUP_1", NULL);
    env_het(&el, NULL, 0);
    expect_var(&el, "SLURM_HET_SIZE", NULL);
    expect_var(&el, "SLURM_PACK_SIZE", NULL);
    expect_var(&el, "SLURM_JOB_ID_HET_GROUP_0", NULL);
    assert_int_equal(el.n, 0);
    envlist_done(&el);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_components),
                                        cmocka_unit_test(test_missing) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
