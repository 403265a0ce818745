/* test_jobfill.c - options become records */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/base/cli.h"
#include "cli/job/jobnodes.h"
#include "cli/job/jobopts.h"
#include "cli/job/jobshow.h"

#define NOW INT64_C(1700000000000000)

/* The status of the checks of a whole line (types: NULL), or of a record that is filled from it. */
static int read_line(enum jobopts_cmd cmd, const char *line, const char *types, Pst__JobRecord *job,
                     struct err *err)
{
    _cleanup_free_ char *copy = xstrdup_or_die(line);
    char *argv[32] = { (char *)"x" }, *save = NULL;
    struct jobopts jo;
    int argc = 1, status;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    jobopts_init(&jo, cmd);
    (void)opts_parse(jobopts_command(cmd), argc, argv, &jo);
    pst__job_record__init(job);
    status = types ? jobopts_fill_job(&jo, types, NOW, job, err) : jobopts_check(&jo);
    jobopts_done(&jo);
    return status;
}

static int fill(enum jobopts_cmd cmd, const char *line, Pst__JobRecord *job, struct err *err)
{
    return read_line(cmd, line, "gpu,shard,nic", job, err);
}

static int check(enum jobopts_cmd cmd, const char *line)
{
    Pst__JobRecord job;

    return read_line(cmd, line, NULL, &job, NULL);
}

/* -B says three things at once; of it and of the options for one of them, the later one counts. */
static void test_geometry(void **state)
{
    static const struct {
        const char *line;
        uint32_t sockets, cores, threads; /* 0: not asked for */
    } rows[] = {
        { "-B 2:4:1", 2, 4, 1 },
        { "-B 1 --cores-per-socket=3", 1, 3, 0 },
        { "--cores-per-socket=3 -B 1", 1, 0, 0 },
        { "-B *:2:1 --threads-per-core=2 --sockets-per-node=1", 1, 2, 2 },
        { "--threads-per-core=2 -B 1:1 --sockets-per-node=2", 2, 1, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Pst__JobRecord job;
        struct err err;

        assert_int_equal(fill(JOBOPTS_SBATCH, rows[i].line, &job, &err), 0);
        assert_int_equal(job.has_sockets_per_node ? job.sockets_per_node : 0, rows[i].sockets);
        assert_int_equal(job.has_cores_per_socket ? job.cores_per_socket : 0, rows[i].cores);
        assert_int_equal(job.has_threads_per_core ? job.threads_per_core : 0, rows[i].threads);
    }
}

/* As 22.05 does: sbatch and salloc refuse where a node would be left without a plane. */
static void test_planes(void **state)
{
    static const char *const refused[] = { "-m plane=2 -N2",
                                           "-m plane=2 -N2-3",
                                           "-m plane=2 -N2 -n2",
                                           "-m plane=2 -N5 -n2",
                                           "-m plane=2 -w n[1-2]",
                                           "-m plane=2 -w n[1-2] -n2",
                                           "-m plane=2 -w n[1-2] -N3 -n4",
                                           "-m plane=1 -N2",
                                           "-m plane=1 -N3 -n2",
                                           "-m plane=4 -N2 --ntasks-per-node=2" };
    static const char *const taken[] = {
        "-m plane=2",
        "-m plane=2 -N1-3",
        "-m plane=2 -N2 -n3",
        "-m plane=2 -N2 --ntasks-per-node=2",
        "-m plane=3 -N2 --ntasks-per-node=2",
        "-m plane=2 -w n[1-2] --ntasks-per-node=2",
        "-m plane=2 -w n1,n2,n1 -n3",
        "-m plane=3 -N2 -n8",
        "-m block -N2",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        assert_int_equal(check(JOBOPTS_SBATCH, refused[i]), 1);
        assert_int_equal(check(JOBOPTS_SALLOC, refused[i]), 1);
        assert_int_equal(check(JOBOPTS_SRUN, refused[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
        assert_int_equal(check(JOBOPTS_SBATCH, taken[i]), 0);
}

/* GPUs of a cluster that has none are refused as other devices are, before anything is sent. */
static void test_no_gpus(void **state)
{
    static const char *const lines[] = { "-G1", "--gpus=x", "--gpus-per-node=a:2",
                                         "--gpus-per-socket=1 --sockets-per-node=1" };
    Pst__JobRecord job;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct err err = { .text = "" };

        assert_int_equal(read_line(JOBOPTS_SBATCH, lines[i], "nic", &job, &err), 1);
        assert_string_equal(err.text, "Invalid generic resource (gres) specification");
        pb_done(&job.base);
        assert_int_equal(read_line(JOBOPTS_SBATCH, lines[i], "gpu", &job, &err), 0);
        pb_done(&job.base);
    }
    assert_int_equal(read_line(JOBOPTS_SBATCH, "-G0", "nic", &job, NULL), 0);
    pb_done(&job.base);
}

static void test_mem_update(void **state)
{
    Pst__JobRecord job;

    (void)state;
    assert_int_equal(fill(JOBOPTS_SBATCH, "--mem-update=20@1:30", &job, NULL), 0);
    assert_true(job.has_mem_update_margin && job.has_mem_update_delay_s);
    assert_int_equal(job.mem_update_margin, 20);
    assert_int_equal(job.mem_update_delay_s, 90);
    assert_int_equal(fill(JOBOPTS_SRUN, "--mem-update=0@2", &job, NULL), 0);
    assert_int_equal(job.mem_update_delay_s, 120); /* a number counts minutes */
    assert_int_equal(fill(JOBOPTS_SALLOC, "-n1", &job, NULL), 0);
    assert_false(job.has_mem_update_delay_s);
}

static void test_basics(void **state)
{
    Pst__JobRecord job;

    (void)state;
    assert_int_equal(
        fill(JOBOPTS_SBATCH,
             "-J name -A acct -p debug,long -n4 -c2 -N2-4 -t 1:30 --mem=4G -C a&b -w n1 -x n2 "
             "--nice --requeue -O -d afterok:1 --licenses=m:1 --open-mode=append",
             &job, NULL),
        0);
    assert_string_equal(job.name, "name");
    assert_string_equal(job.partition, "debug,long");
    assert_int_equal(job.num_tasks, 4);
    assert_int_equal(job.cpus_per_task, 2);
    assert_int_equal(job.min_nodes, 2);
    assert_int_equal(job.max_nodes, 4);
    assert_int_equal(job.time_limit_min, 2); /* seconds round up */
    assert_int_equal(job.mem_per_node_mib, 4096);
    assert_string_equal(job.features, "a&b");
    assert_string_equal(job.req_nodes, "n1");
    assert_string_equal(job.exc_nodes, "n2");
    assert_int_equal(job.nice, 100);
    assert_true(job.has_requeue && job.requeue);
    assert_true(job.overcommit);
    assert_string_equal(job.dependency, "afterok:1");
    assert_string_equal(job.open_mode, "a");
    assert_false(job.has_mem_per_cpu_mib);
    assert_false(job.has_exclusive);
    pb_done(&job.base);
}

static void test_times(void **state)
{
    Pst__JobRecord job;

    (void)state;
    assert_int_equal(fill(JOBOPTS_SBATCH, "-t 0 --begin=now+60", &job, NULL), 0);
    assert_true(job.has_time_unlimited && job.time_unlimited && !job.has_time_limit_min);
    assert_int_equal(job.begin_us, NOW + 60 * INT64_C(1000000));
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "-t -5 --time-min=10 --signal=B:USR1@90", &job, NULL), 0);
    assert_true(job.time_unlimited);
    assert_int_equal(job.time_min_min, 10);
    assert_int_equal(job.warn_signal, 10);
    assert_int_equal(job.warn_secs, 90);
    assert_true(job.warn_batch_only);
    assert_string_equal(job.signal, "B:USR1@90");
    pb_done(&job.base);
}

static void test_resources(void **state)
{
    struct err err = { .text = "" };
    Pst__JobRecord job;

    (void)state;
    assert_int_equal(fill(JOBOPTS_SBATCH,
                          "--gres=nic:2 --gpus-per-node=a100:2 -G 4 --gpus-per-task=1 -n4", &job,
                          NULL),
                     0);
    assert_string_equal(job.tres_per_node, "gres/nic:2,gres/gpu:a100:2");
    assert_string_equal(job.tres_per_job, "gres/gpu:4");
    assert_string_equal(job.tres_per_task, "gres/gpu=1");
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "--tres-per-task=cpu=3", &job, NULL), 0);
    assert_int_equal(job.cpus_per_task, 3);
    assert_string_equal(job.tres_per_task, "cpu=3");
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "--gres=shard:2 -G 1", &job, &err), 1);
    assert_string_equal(err.text, "Invalid generic resource (gres) specification");
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "--gres=nosuch:1", &job, &err), 1);
    assert_string_equal(err.text, "Invalid generic resource (gres) specification");
    pb_done(&job.base);
}

/* Values as they were understood. */
static void test_shown(void **state)
{
    static char line[] =
        "x -N2-4 -n3 -t 1:30 --mem=1g --tmp=0 --profile=task,energy --mail-type=ALL "
        "--switches=2@5 --gres=gpu:1 --requeue --signal=B:10@30";
    static const char *const lines[] = {
        "gres                : gres/gpu:1\n",
        "mem                 : 1G\n",
        "mail-type           : INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT\n",
        "nodes               : 2-3\n",
        "profile             : Energy,Task\n",
        "requeue             : requeue\n",
        "signal              : B:USR1@30\n",
        "switches            : 2@00:05:00\n",
        "time                : 00:02:00\n",
        "tmp                 : 0?\n",
    };
    char *argv[32], *save = NULL, text[4096] = "";
    struct jobopts jo;
    FILE *was = stderr, *f = fmemopen(text, sizeof(text), "w");
    int argc = 0;

    (void)state;
    for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    argv[argc] = NULL;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    (void)opts_parse(jobopts_command(JOBOPTS_SBATCH), argc, argv, &jo);
    assert_int_equal(jobopts_check(&jo), 0);
    assert_non_null(f);
    stderr = f;
    jobshow_defined(&jo);
    stderr = was;
    (void)fclose(f);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        assert_non_null(strstr(text, lines[i]));
    jobopts_done(&jo);
}

static void test_folded(void **state)
{
    char *list = strdup("n3,n1,n2,n1"), *bad = strdup("n[1");
    size_t n = 0;

    (void)state;
    assert_int_equal(jobnodes_fold(&list, &n), 0);
    assert_string_equal(list, "n[1-3]");
    assert_int_equal(n, 3);
    assert_int_equal(jobnodes_fold(&bad, NULL), 1);
    free(list);
    free(bad);
}

static void test_nodes(void **state)
{
    char path[] = "/tmp/pst-nodes-XXXXXX", line[64];
    struct err err = { .text = "" };
    Pst__JobRecord job;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "n1 n2\n\n,n[4-5]\n", 15), 15);
    (void)close(fd);
    (void)snprintf(line, sizeof(line), "-w %s", path);
    assert_int_equal(fill(JOBOPTS_SBATCH, line, &job, NULL), 0);
    assert_string_equal(job.req_nodes, "n[1-2,4-5]");
    pb_done(&job.base);
    (void)unlink(path);
    assert_int_equal(fill(JOBOPTS_SBATCH, line, &job, &err), 1); /* as 22.05 */
    assert_non_null(strstr(err.text, "error opening file /"));
    pb_done(&job.base);
    line[1] = 'F';
    assert_int_equal(fill(JOBOPTS_SBATCH, line, &job, &err), 255);
    assert_string_equal(err.text, "Invalid --nodefile node file");
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "-N 0 --ntasks-per-node=3", &job, NULL), 0);
    assert_false(job.has_min_nodes);
    assert_int_equal(job.num_tasks, 3);
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "-w n[1-3]", &job, NULL), 0);
    assert_int_equal(job.max_nodes, 3);
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "-w n[1-3] -C [a*1&b*1]", &job, NULL), 0);
    assert_int_equal(job.min_nodes, 3);
    assert_false(job.has_max_nodes); /* those that are counted come beside them */
    pb_done(&job.base);
    assert_int_equal(fill(JOBOPTS_SBATCH, "-B 2:*:1 --exclusive=topo", &job, NULL), 0);
    assert_int_equal(job.sockets_per_node, 2);
    assert_false(job.has_cores_per_socket);
    assert_int_equal(job.threads_per_core, 1);
    assert_int_equal(job.exclusive, 4);
    pb_done(&job.base);
}

static void fill_step(const char *line, bool inside, Pst__StepSpec *spec)
{
    _cleanup_free_ char *copy = xstrdup_or_die(line);
    char *argv[32] = { (char *)"x" }, *save = NULL;
    struct jobopts jo;
    int argc = 1;

    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    jobopts_init(&jo, JOBOPTS_SRUN);
    (void)opts_parse(jobopts_command(JOBOPTS_SRUN), argc, argv, &jo);
    jo.in_allocation = inside;
    pst__step_spec__init(spec);
    assert_int_equal(jobopts_fill_step(&jo, "gpu", spec, NULL), 0);
    jobopts_done(&jo);
}

static void test_step(void **state)
{
    Pst__StepSpec spec;

    (void)state;
    fill_step("-n4 -c2 -r1 -t 5 -I --gres=none", true, &spec);
    assert_int_equal(spec.num_tasks, 4);
    assert_true(spec.exact); /* -c implies it */
    assert_int_equal(spec.relative, 1);
    assert_int_equal(spec.time_limit_min, 5);
    assert_int_equal(spec.immediate_s, 1);
    assert_string_equal(spec.tres_per_node, "none");
    pb_done(&spec.base);
    fill_step("--exclusive -n1", true, &spec);
    assert_true(spec.exact);
    pb_done(&spec.base);
    fill_step("--exclusive -n1 -t 5", false, &spec);
    assert_false(spec.exact);
    assert_false(spec.has_time_limit_min); /* the job's */
    pb_done(&spec.base);
    fill_step("--overlap -c2", true, &spec);
    assert_true(spec.overlap && !spec.exact);
    pb_done(&spec.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basics),    cmocka_unit_test(test_mem_update),
        cmocka_unit_test(test_geometry),  cmocka_unit_test(test_planes),
        cmocka_unit_test(test_no_gpus),   cmocka_unit_test(test_times),
        cmocka_unit_test(test_resources), cmocka_unit_test(test_shown),
        cmocka_unit_test(test_folded),    cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_step),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
