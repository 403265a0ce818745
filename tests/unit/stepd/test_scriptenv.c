/* test_scriptenv.c - the environment of Prolog and Epilog on a node */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "model/tx.h"
#include "stepd/env/env.h"
#include "stepd/env/envlist.h"

static Pst__JobRecord job;
static Pst__Alloc alloc;
static Pst__JobOnNode on;

static int set_up(void **state)
{
    (void)state;
    pst__job_record__init(&job);
    pst__alloc__init(&alloc);
    pst__job_on_node__init(&on);
    SET(&job, job_id, 42);
    SET(&job, uid, 1000);
    SET(&job, gid, 100);
    job.user_name = (char *)"ann";
    job.partition = (char *)"p";
    alloc.nodes = (char *)"n[1-3]";
    job.alloc = &alloc;
    on.job = &job;
    on.node_name = (char *)"n2";
    on.cluster_name = (char *)"c";
    return 0;
}

static void value_is(const struct envlist *el, const char *name, const char *want)
{
    const char *got = envlist_get(el, name);

    if (!got)
        fail_msg("%s is not set", name);
    assert_string_equal(got, want);
}

static void test_job(void **state)
{
    _cleanup_val_(envlist_done) struct envlist el = ENVLIST_INIT;

    (void)state;
    SET(&job, num_tasks, 6);
    env_script(&on, "prolog_slurmd", "/etc/slurm/slurm.conf", &el);
    value_is(&el, "SLURM_SCRIPT_CONTEXT", "prolog_slurmd");
    value_is(&el, "SLURMD_NODENAME", "n2");
    value_is(&el, "SLURM_CONF", "/etc/slurm/slurm.conf");
    value_is(&el, "SLURM_JOB_ID", "42");
    value_is(&el, "SLURM_JOBID", "42");
    value_is(&el, "SLURM_UID", "1000");
    value_is(&el, "SLURM_JOB_UID", "1000");
    value_is(&el, "SLURM_JOB_USER", "ann");
    value_is(&el, "SLURM_JOB_PARTITION", "p");
    value_is(&el, "SLURM_CLUSTER_NAME", "c");
    value_is(&el, "SLURM_JOB_NODELIST", "n[1-3]");
    value_is(&el, "SLURM_NODELIST", "n[1-3]");
    value_is(&el, "SLURM_JOB_NTASKS", "6");
    value_is(&el, "SLURM_JOB_CORE_SPEC_TYPE", "cores");
    assert_null(envlist_get(&el, "PATH")); /* such scripts name what they run */
    assert_null(envlist_get(&el, "SLURM_HET_JOB_ID"));
}

/* srun's credential knows no more than the node's name. */
static void test_without_alloc(void **state)
{
    _cleanup_val_(envlist_done) struct envlist el = ENVLIST_INIT;

    (void)state;
    job.alloc = NULL;
    SET(&job, core_spec, 2);
    SET(&job, spec_threads, true);
    env_script(&on, "epilog_slurmd", "/c", &el);
    value_is(&el, "SLURM_JOB_NODELIST", "n2");
    value_is(&el, "SLURM_JOB_CORE_SPEC_COUNT", "2");
    value_is(&el, "SLURM_JOB_CORE_SPEC_TYPE", "threads");
    assert_null(envlist_get(&el, "SLURM_JOB_NTASKS"));
}

/* The node's scripts have to do with the component, not with the whole job. */
static void test_component(void **state)
{
    _cleanup_val_(envlist_done) struct envlist el = ENVLIST_INIT;

    (void)state;
    SET(&job, het_job_id, 41);
    SET(&job, het_offset, 1);
    env_script(&on, "prolog_slurmd", "/c", &el);
    value_is(&el, "SLURM_JOB_ID", "42");
    value_is(&el, "SLURM_HET_JOB_ID", "41");
}

static void test_end(void **state)
{
    _cleanup_val_(envlist_done) struct envlist el = ENVLIST_INIT;

    (void)state;
    env_script_end(3 << 8, 9, &el);
    value_is(&el, "SLURM_JOB_EXIT_CODE", "768");
    value_is(&el, "SLURM_JOB_EXIT_CODE2", "3:0");
    value_is(&el, "SLURM_JOB_DERIVED_EC", "9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_job, set_up),
        cmocka_unit_test_setup(test_without_alloc, set_up),
        cmocka_unit_test_setup(test_component, set_up),
        cmocka_unit_test_setup(test_end, set_up),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
