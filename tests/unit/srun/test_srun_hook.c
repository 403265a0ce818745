/* test_srun_hook.c - SrunProlog and SrunEpilog beside the step: which runs, with what, how it ends
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "cli/srun/srun.h"
#include "output_util.h"

static struct output said;
static struct srun srun;
static struct srun_part part;
static struct srun_node nodes[3];
static Pst__StepReply reply;
static Pst__StepRecord step;
static Pst__JobRecord job;
static char dir[] = "/tmp/test_hook.XXXXXX", path[64];
static char *words[] = { (char *)"srun", (char *)"a.out", (char *)"x y", NULL };

static void load_conf(const char *more)
{
    char text[256];
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };

    file.len = (size_t)snprintf(text, sizeof(text),
                                "ClusterName=demo\nSlurmctldHost=h\nNodeName=n\n%s", more);
    if (srun.cli.conf)
        srun.cli.conf = conf_free(srun.cli.conf);
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &srun.cli.conf, NULL, NULL), 0);
}

static void fill_records(void)
{
    static Pst__Alloc alloc = PST__ALLOC__INIT;

    pst__step_reply__init(&reply);
    pst__step_record__init(&step);
    pst__job_record__init(&job);
    alloc.nodes = (char *)"n[1-3]";
    step.alloc = &alloc;
    reply.step = &step;
    job.job_id = 7;
    job.uid = 1000;
    job.gid = 100;
    job.user_name = (char *)"alice";
    job.partition = (char *)"debug";
    job.work_dir = (char *)"/w";
    job.start_us = INT64_C(1000) * 1000000;
    job.has_time_limit_min = 1;
    job.time_limit_min = 10;
}

static int begin_hook(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/test_hook.XXXXXX");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/hook", dir);
    srun = (struct srun){ .job_id = 7,
                          .step_id = 3,
                          .n_tasks = 5,
                          .nodes = nodes,
                          .n_nodes = 3,
                          .parts = &part,
                          .n_parts = 1,
                          .job = &job };
    cli_init(&srun.cli, "srun");
    part = (struct srun_part){ .argv = words, .first = 1, .end = 3, .reply = &reply };
    jobopts_init(&srun.opts, JOBOPTS_SRUN);
    jobopts_init(&part.opts, JOBOPTS_SRUN);
    for (size_t i = 0; i < 3; i++)
        nodes[i] = (struct srun_node){ .n_tasks = i < 2 ? 2 : 1 };
    fill_records();
    (void)unsetenv("SLURM_SUBMIT_DIR");
    load_conf("");
    return 0;
}

static int end_hook(void **state)
{
    (void)state;
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0);
    jobopts_done(&srun.opts);
    jobopts_done(&part.opts);
    cli_done(&srun.cli);
    return 0;
}

/* The script, and --prolog or --epilog that names it. */
static void give_hook(enum jobopt id, const char *script)
{
    struct err err = { .text = "" };
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    (void)fprintf(f, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(jobopts_set(&srun.opts, opts_find(jobopts_command(JOBOPTS_SRUN), id), path,
                                 OPT_FROM_ARGV, &err),
                     0);
}

static int run_hook(enum jobopt id)
{
    int r;

    output_begin(&said, NULL);
    r = srun_hook(&srun, id);
    output_end(&said);
    return r;
}

static void test_environment(void **state)
{
    (void)state;
    give_hook(JO_PROLOG,
              "for n in SLURM_JOB_ID SLURM_STEP_ID SLURM_NTASKS SLURM_NNODES SLURM_TASKS_PER_NODE "
              "SLURM_STEP_NODELIST SLURM_JOB_USER SLURM_JOB_UID SLURM_CLUSTER_NAME "
              "SLURM_JOB_START_TIME SLURM_JOB_END_TIME SLURM_SUBMIT_DIR SLURM_DISTRIBUTION "
              "SLURM_SCRIPT_CONTEXT SLURM_MPI_TYPE SLURMD_DEBUG; do eval echo $n=\\$$n; done; "
              "echo \"$# $1 $2\"");
    assert_int_equal(run_hook(JO_PROLOG), 0);
    expect_said(&said,
                "SLURM_JOB_ID=7\nSLURM_STEP_ID=3\nSLURM_NTASKS=5\nSLURM_NNODES=3\n"
                "SLURM_TASKS_PER_NODE=2(x2),1\nSLURM_STEP_NODELIST=n[1-3]\nSLURM_JOB_USER=alice\n"
                "SLURM_JOB_UID=1000\nSLURM_CLUSTER_NAME=demo\nSLURM_JOB_START_TIME=1000\n"
                "SLURM_JOB_END_TIME=1600\nSLURM_SUBMIT_DIR=/w\nSLURM_DISTRIBUTION=block\n"
                "SLURM_SCRIPT_CONTEXT=prolog_srun\nSLURM_MPI_TYPE=none\nSLURMD_DEBUG=2\n"
                "2 a.out x y\n",
                "");
}

static void test_distribution(void **state)
{
    (void)state;
    step.distribution = (char *)"plane=4";
    job.has_array_task_id = 1;
    job.array_task_id = 9;
    job.has_array_job_id = 1;
    job.array_job_id = 5;
    give_hook(JO_EPILOG, "echo $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE $SLURM_ARRAY_JOB_ID "
                         "$SLURM_ARRAY_TASK_ID $SLURM_SCRIPT_CONTEXT");
    assert_int_equal(run_hook(JO_EPILOG), 0);
    expect_said(&said, "plane 4 5 9 epilog_srun\n", "");
}

/* As many tasks as nodes are cyclic; in a job of our own nothing is said. */
static void test_usual_distribution(void **state)
{
    (void)state;
    srun.n_tasks = 3;
    give_hook(JO_PROLOG, "echo $SLURM_DISTRIBUTION.");
    assert_int_equal(run_hook(JO_PROLOG), 0);
    assert_string_equal(said.out, "cyclic.\n");
    srun.own_job = true;
    assert_int_equal(run_hook(JO_PROLOG), 0);
    assert_string_equal(said.out, ".\n");
}

/* As recorded. */
static void test_failures(void **state)
{
    (void)state;
    give_hook(JO_PROLOG, "exit 3");
    assert_int_equal(run_hook(JO_PROLOG), 3);
    expect_said(&said, "", "srun: error: srun prolog failed rc = 3. Aborting step.\n");
    give_hook(JO_EPILOG, "kill -9 $$");
    assert_int_equal(run_hook(JO_EPILOG), SIGKILL);
    expect_said(&said, "", "srun: error: srun epilog failed status=9\n");
}

/* Options go before the configuration; "none" and what cannot be run stop nothing. */
static void test_which(void **state)
{
    char line[128], want[128];
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(run_hook(JO_PROLOG), 0); /* none is set */
    give_hook(JO_PROLOG, "echo ran");
    jobopts_clear(&srun.opts, JO_PROLOG);
    (void)snprintf(line, sizeof(line), "SrunProlog=%s\n", path);
    load_conf(line);
    assert_int_equal(run_hook(JO_PROLOG), 0);
    assert_string_equal(said.out, "ran\n");
    assert_int_equal(run_hook(JO_EPILOG), 0);
    assert_string_equal(said.out, "");
    assert_int_equal(jobopts_set(&srun.opts, opts_find(jobopts_command(JOBOPTS_SRUN), JO_PROLOG),
                                 "NONE", OPT_FROM_ARGV, &err),
                     0);
    assert_int_equal(run_hook(JO_PROLOG), 0);
    expect_said(&said, "", "");
    jobopts_clear(&srun.opts, JO_PROLOG);
    (void)unlink(path);
    assert_int_equal(run_hook(JO_PROLOG), 0);
    (void)snprintf(want, sizeof(want), "srun: Access denied for %s: No such file or directory\n",
                   path);
    expect_said(&said, "", want);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_hook, end_hook)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_environment), ONE(test_distribution), ONE(test_usual_distribution),
        ONE(test_failures),    ONE(test_which),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
