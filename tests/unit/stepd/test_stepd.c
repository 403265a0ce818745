/* test_stepd.c - the step daemon's pure parts: names, environments, rank maps, the spool's
 * layout */
#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "stepd/env/env.h"
#include "stepd/env/gpuenv.h"
#include "stepd/life/steplife.h"
#include "stepd/shared/outpattern.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"

/* ---- patterns: the cases of the recorded transcripts ----------------------------------------- */

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
    } cases[] = {
        { "x.%j", "x.46" },
        { "x.%J", "x.46" },
        { "x.%A.%a", "x.46.4294967294" },
        { "x.%N.%n", "x.node1.0" },
        { "x.%t", "x.0" },
        { "x.%u.%x", "x.alice.nm" },
        { "x.%5j", "x.00046" },
        { "x.%99j", "x.0000000046" },
        { "x.%%.%j", "x.%.46" },
        { "\\\\x.%j", "x.%j" },
        { "\\x.%j", "x.%j" },
        { "x.%r.%s.%S", "x.2.batch.s0EXM7W5AQ6H00" },
        { "x.%Q", "x.%Q" },
        { "x.%3Q", "x.%3Q" },
        { "x%", "x" },
        { "x\\%j", "x%j" },
        { "x%7", "x%7" },
        { "", "" },
    };
    struct pattern_vars v = { .job_id = 46,
                              .array_job_id = 46,
                              .array_task_id = PATTERN_NO_ARRAY,
                              .step_id = STEP_ID_BATCH,
                              .step_name = "batch",
                              .batch = true,
                              .node_name = "node1",
                              .restarts = 2,
                              .user = "alice",
                              .job_name = "nm",
                              .sluid = "s0EXM7W5AQ6H00" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *name = NULL;

        assert_int_equal(pattern_expand(cases[i].pattern, &v, &name), 0);
        assert_string_equal(name, cases[i].name);
        free(name);
    }
}

static void test_patterns_of_arrays_and_steps(void **state)
{
    struct pattern_vars v = { .job_id = 61,
                              .array_job_id = 60,
                              .array_task_id = 12,
                              .step_id = 3,
                              .step_name = "3",
                              .node_name = "n",
                              .task_id = 7 };
    char *name = NULL;

    (void)state;
    assert_int_equal(pattern_expand("a.%A_%3a.%b.%j.%s.%J.%2t.%2s", &v, &name), 0);
    assert_string_equal(name, "a.60_012.2.61.3.61.3.07.03");
    free(name);
    assert_true(pattern_per_task("x.%4t"));
    assert_false(pattern_per_task("x.%%t"));
    assert_false(pattern_per_task("\\%t"));
    assert_false(pattern_per_task("x%"));
}

static void test_pattern_too_long(void **state)
{
    static char pattern[3000], user[3000];
    struct pattern_vars v = { .step_name = "0", .node_name = "n", .user = user };
    char *name = NULL;

    (void)state;
    memset(user, 'u', sizeof(user) - 1);
    for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
        memcpy(pattern + i, "%u", 2);
    assert_int_equal(pattern_expand(pattern, &v, &name), -ENAMETOOLONG);
    assert_null(name);
}

/* ---- environments ---------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The list sorted, only SLURM and SLURMD variables, one a line. */
static char *slurm_lines(struct envlist *el)
{
    static char text[16384];
    size_t at = 0;

    assert_non_null(envlist_array(el));
    qsort(el->items, el->n, sizeof(*el->items), by_text);
    text[0] = '\0';
    for (size_t i = 0; i < el->n; i++)
        if (strncmp(el->items[i], "SLURM", 5) == 0)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s\n", el->items[i]);
    return text;
}

struct sample {
    Pst__JobRecord job;
    Pst__Alloc alloc;
    Pst__AllocGroup g[2], *groups[2];
    Pst__JobOnNode on;
    Pst__StepFile sf;
};

/* sbatch -N2 -n6 -c2 --mem-per-cpu=200 -t 7: 10 CPUs on node1, 2 on node2. */
static void fill(struct sample *s)
{
    pst__job_record__init(&s->job);
    pst__alloc__init(&s->alloc);
    pst__job_on_node__init(&s->on);
    pst__step_file__init(&s->sf);
    for (int i = 0; i < 2; i++) {
        pst__alloc_group__init(&s->g[i]);
        s->g[i].nodes = 1;
        s->groups[i] = &s->g[i];
    }
    s->g[0].cpus = 10;
    s->g[1].cpus = 2;
    s->alloc.nodes = "node[1-2]";
    s->alloc.groups = s->groups;
    s->alloc.n_groups = 2;
    s->job.alloc = &s->alloc;
    s->job.job_id = 21;
    s->job.uid = s->job.gid = 2001;
    s->job.user_name = "alice";
    s->job.account = "physics";
    s->job.partition = "debug";
    s->job.qos = "normal";
    s->job.name = "env.sh";
    s->job.sluid = "s0EXM7W54X0800";
    s->job.work_dir = "/home/alice";
    s->job.alloc_host = "login1";
    s->job.start_us = INT64_C(1795167517000000);
    s->job.has_time_limit_min = true;
    s->job.time_limit_min = 7;
    s->job.has_num_tasks = s->job.has_cpus_per_task = s->job.has_mem_per_cpu_mib = true;
    s->job.num_tasks = 6;
    s->job.cpus_per_task = 2;
    s->job.mem_per_cpu_mib = 200;
    s->on.job = &s->job;
    s->on.node_name = "node1";
    s->on.cluster_name = "demo";
    s->on.cpus = 10;
    s->on.tasks_per_node = "5,1";
    s->sf.job = &s->on;
    s->sf.conf_path = "/etc/slurm/slurm.conf";
    s->sf.step_id = STEP_ID_BATCH;
    s->sf.task_prolog = "/srv/task_prolog";
}

static void test_env_batch(void **state)
{
    static const char submitted[] =
        "PATH=/bin\0SLURM_STEP_NODELIST=old\0SLURM_ARRAY_TASK_ID=9\0TMPDIR=/dev/null/none\0"
        "SLURM_SUBMIT_HOST=login1\0I_MPI_HYDRA_BOOTSTRAP=ssh\0novalue\0=x\0LAST=1";
    struct envlist el = ENVLIST_INIT;
    struct sample s;

    (void)state;
    fill(&s);
    s.sf.environment.data = (uint8_t *)submitted;
    s.sf.environment.len = sizeof(submitted) - 1;
    env_batch(&s.sf, "node1", &el);
    assert_string_equal(
        slurm_lines(&el),
        "SLURMD_NODENAME=node1\nSLURM_CLUSTER_NAME=demo\nSLURM_CONF=/etc/slurm/slurm.conf\n"
        "SLURM_CPUS_ON_NODE=10\nSLURM_CPUS_PER_TASK=2\nSLURM_GTIDS=0\nSLURM_JOBID=21\n"
        "SLURM_JOB_ACCOUNT=physics\nSLURM_JOB_CPUS_PER_NODE=10,2\nSLURM_JOB_END_TIME=1795167937\n"
        "SLURM_JOB_EXCLUSIVE=NO\nSLURM_JOB_GID=2001\nSLURM_JOB_ID=21\nSLURM_JOB_NAME=env.sh\n"
        "SLURM_JOB_NODELIST=node[1-2]\nSLURM_JOB_NUM_NODES=2\nSLURM_JOB_OVERSUBSCRIBE=NO\n"
        "SLURM_JOB_PARTITION=debug\nSLURM_JOB_QOS=normal\nSLURM_JOB_SLUID=s0EXM7W54X0800\n"
        "SLURM_JOB_START_TIME=1795167517\nSLURM_JOB_UID=2001\nSLURM_JOB_USER=alice\n"
        "SLURM_LOCALID=0\nSLURM_MEM_PER_CPU=200\nSLURM_NNODES=2\nSLURM_NODEID=0\n"
        "SLURM_NODELIST=node[1-2]\nSLURM_NPROCS=6\nSLURM_NTASKS=6\nSLURM_OOM_KILL_STEP=0\n"
        "SLURM_PRIO_PROCESS=0\nSLURM_PROCID=0\nSLURM_SCRIPT_CONTEXT=prolog_task\nSLURM_STEPID=-5\n"
        "SLURM_STEP_ID=-5\nSLURM_SUBMIT_DIR=/home/alice\nSLURM_SUBMIT_HOST=login1\n"
        "SLURM_TASKS_PER_NODE=5,1\nSLURM_TOPOLOGY_ADDR=node1\nSLURM_TOPOLOGY_ADDR_PATTERN=node\n"
        "SLURM_TRES_PER_TASK=cpu=2\n");
    assert_string_equal(envlist_get(&el, "TMPDIR"), "/dev/null/none"); /* a prolog may make it */
    env_tmpdir(&el);
    assert_string_equal(envlist_get(&el, "TMPDIR"), "/dev/null/none");
    assert_string_equal(envlist_get(&el, "ENVIRONMENT"), "BATCH");
    assert_string_equal(envlist_get(&el, "HOSTNAME"), "node1");
    assert_string_equal(envlist_get(&el, "I_MPI_HYDRA_BOOTSTRAP"), "ssh");
    assert_string_equal(envlist_get(&el, "HYDRA_BOOTSTRAP"), "slurm");
    assert_string_equal(envlist_get(&el, "LAST"), "1");
    envlist_done(&el);
}

static void test_env_gpus(void **state)
{
    Pst__GresAlloc gpu = PST__GRES_ALLOC__INIT, mps = PST__GRES_ALLOC__INIT,
                   *gres[2] = { &gpu, &mps };
    struct envlist el = ENVLIST_INIT, relative = ENVLIST_INIT, shared = ENVLIST_INIT;
    static const uint32_t minors[] = { 7, 6, 5, 4 };
    Pst__Gpu gpus[4], *table[4];
    struct sample s;

    (void)state;
    fill(&s);
    for (uint32_t i = 0; i < 4; i++) {
        pst__gpu__init(&gpus[i]);
        gpus[i].number = i;
        gpus[i].minor = minors[i];
        gpus[i].path = i == 3 ? "/dev/nvidia4" : "/dev/other";
        gpus[i].env = GPU_ENV_CUDA;
        table[i] = &gpus[i];
    }
    s.sf.gpus = table;
    s.sf.n_gpus = 4;
    gpu.name = "gpu";
    gpu.count = 3;
    gpu.devices = "0-1,3";
    s.on.gres = gres;
    s.on.n_gres = 1;
    s.job.has_num_tasks = false;
    s.job.has_ntasks_per_node = true;
    s.job.ntasks_per_node = 3;
    s.job.has_cpus_per_task = false;
    s.job.tres_per_task = "gres/gpu:1";
    env_batch(&s.sf, "h", &el);
    assert_string_equal(envlist_get(&el, "SLURM_GPUS_ON_NODE"), "3");
    assert_string_equal(envlist_get(&el, "SLURM_JOB_GPUS"), "7,6,4");
    assert_string_equal(envlist_get(&el, "CUDA_VISIBLE_DEVICES"), "7,6,4");
    assert_null(envlist_get(&el, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"));
    assert_null(envlist_get(&el, "ROCR_VISIBLE_DEVICES"));
    assert_string_equal(envlist_get(&el, "SLURM_NTASKS"), "6");
    assert_string_equal(envlist_get(&el, "SLURM_TRES_PER_TASK"), "gres/gpu:1"); /* as typed */
    envlist_done(&el);

    s.sf.gpus_relative = true;
    gpus[3].env |= GPU_ENV_UUID;
    gpus[3].uuid = "GPU-4";
    env_batch(&s.sf, "h", &relative);
    assert_string_equal(envlist_get(&relative, "SLURM_JOB_GPUS"), "7,6,4");
    assert_string_equal(envlist_get(&relative, "CUDA_VISIBLE_DEVICES"), "0,1,GPU-4");
    envlist_done(&relative);

    s.sf.gpus_relative = false;
    mps.name = "mps";
    mps.count = 50;
    mps.devices = "2";
    mps.shares = "400-449";
    mps.share_counts = "0/200,50/200";
    gres[0] = &mps;
    s.on.n_gres = 1;
    env_batch(&s.sf, "h", &shared);
    assert_string_equal(envlist_get(&shared, "CUDA_VISIBLE_DEVICES"), "5");
    assert_string_equal(envlist_get(&shared, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "25");
    assert_string_equal(envlist_get(&shared, "SLURM_GPUS_ON_NODE"), "1");
    envlist_done(&shared);
}

static void test_env_tasks(void **state)
{
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    Pst__StepRecord step = PST__STEP_RECORD__INIT;
    struct envlist el = ENVLIST_INIT, task = ENVLIST_INIT;
    uint32_t ranks[2] = { 4, 5 };
    struct sample s;

    (void)state;
    fill(&s);
    s.g[0].tasks = s.g[1].tasks = 4;
    step.alloc = &s.alloc;
    step.num_tasks = 8;
    launch.task_ids = ranks;
    launch.n_task_ids = 2;
    launch.node_index = 1;
    launch.has_umask = true;
    launch.umask = 027;
    s.sf.launch = &launch;
    s.sf.step = &step;
    s.sf.step_id = 3;
    env_step(&s.sf, "127.0.0.1", 4242, &el);
    envlist_borrow(&task, &el);
    env_task_rank(&launch, 1, &task);
    assert_string_equal(envlist_get(&task, "SLURM_PROCID"), "5");
    assert_string_equal(envlist_get(&task, "SLURM_LOCALID"), "1");
    assert_string_equal(envlist_get(&task, "SLURM_GTIDS"), "4,5");
    assert_string_equal(envlist_get(&task, "SLURM_STEP_ID"), "3");
    assert_string_equal(envlist_get(&task, "SLURM_STEP_TASKS_PER_NODE"), "4(x2)");
    assert_string_equal(envlist_get(&task, "SLURM_CPUS_ON_NODE"), "2");
    assert_string_equal(envlist_get(&task, "SLURM_SRUN_COMM_PORT"), "4242");
    assert_string_equal(envlist_get(&task, "SLURM_UMASK"), "0027");
    assert_null(envlist_get(&el, "SLURM_PROCID"));
    envlist_done(&task);
    envlist_done(&el);
}

static void test_env_epilog(void **state)
{
    struct envlist el = ENVLIST_INIT;
    struct sample s;

    (void)state;
    fill(&s);
    s.job.batch = true;
    env_script(&s.on, "epilog_slurmd", "/etc/slurm/slurm.conf", &el);
    env_script_end(3 << 8, 0, &el);
    assert_string_equal(envlist_get(&el, "SLURM_JOB_EXIT_CODE"), "768");
    assert_string_equal(envlist_get(&el, "SLURM_JOB_EXIT_CODE2"), "3:0");
    assert_string_equal(envlist_get(&el, "SLURM_JOB_STDOUT"), "slurm-%j.out");
    assert_string_equal(envlist_get(&el, "SLURM_SCRIPT_CONTEXT"), "epilog_slurmd");
    assert_null(envlist_get(&el, "PATH"));
    envlist_done(&el);
}

static void test_envlist(void **state)
{
    struct envlist el = ENVLIST_INIT;
    char big[20000];

    (void)state;
    for (int i = 0; i < 300; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "V%d", i);
        envlist_setu(&el, name, (uint64_t)i);
    }
    memset(big, 'b', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    envlist_setf(&el, "BIG", "%s", big);
    assert_int_equal(el.n, 301);
    assert_string_equal(envlist_get(&el, "V299"), "299");
    assert_string_equal(envlist_get(&el, "BIG"), big);
    envlist_unset(&el, "V0");
    envlist_unset(&el, "V0");
    assert_null(envlist_get(&el, "V0"));
    envlist_unset_prefix(&el, "V1");
    assert_null(envlist_get(&el, "V150"));
    assert_string_equal(envlist_get(&el, "V250"), "250");
    assert_null(envlist_array(&el)[el.n]);
    envlist_done(&el);
}

/* ---- login environments ---------------------------------------------------------------------- */

/* What the loop needs: it turns while the shell runs. */
static void serve_begin(struct step *s)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    s->sig_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    assert_true(s->sig_fd >= 0);
    s->on = &step_events;
    s->listen_fd = s->cg.watch_fd = s->aid.fd = -1;
    for (int i = 0; i < STEP_CONNS; i++)
        s->conns[i] = -1;
    s->fds_room = 64;
    s->fds = calloc(s->fds_room, sizeof(*s->fds));
    assert_non_null(s->fds);
}

static void serve_end(struct step *s)
{
    assert_int_equal(s->n_running, 0);
    assert_int_equal(s->aid.pid, 0);
    close(s->sig_fd);
    free(s->fds);
}

/* A shell whose start-up files print, then what stands in `body`; *ret_loaded: was it taken? */
static void login_of(const char *body, struct step *s, bool *ret_loaded)
{
    char path[] = "/tmp/penstock-shell-XXXXXX";
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_true(dprintf(fd, "#!/bin/sh\necho welcome; echo A=wrong\n%s\n", body) > 0);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    sf.shell = path;
    sf.home = (char *)"/";
    sf.script_timeout_s = 1;
    sf.has_script_timeout_s = true;
    job.user_name = (char *)"alice";
    s->sf = &sf;
    s->job = &job;
    s->work_dir = "/tmp";
    serve_begin(s);
    *ret_loaded = loginenv_load(s);
    serve_end(s);
    unlink(path);
}

static void test_login_env(void **state)
{
    static const struct {
        const char *body, *why;
    } bad[] = {
        { "exit 3", "it ended with status 3" },
        { "exit 0", "it printed no environment" },
        { "exec sleep 30", "Connection timed out" },
    };
    struct step s = { 0 };
    bool loaded;

    (void)state;
    login_of("A='two\nlines' B=b SHLVL=7 PWD=/x exec /bin/sh -c \"$2\"", &s, &loaded);
    assert_true(loaded);
    assert_string_equal(envlist_get(&s.env, "B"), "b");
    assert_string_equal(envlist_get(&s.env, "A"), "two\nlines");
    assert_string_equal(envlist_get(&s.env, "LOGNAME"), "alice");
    assert_string_equal(envlist_get(&s.env, "HOME"), "/");
    assert_null(envlist_get(&s.env, "SHLVL"));
    assert_null(envlist_get(&s.env, "PWD"));
    envlist_done(&s.env);
    free(s.login_env);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        s = (struct step){ 0 };
        login_of(bad[i].body, &s, &loaded);
        assert_false(loaded);
        assert_true(s.launch_failed && s.login_env_failed);
        assert_non_null(strstr(s.error, bad[i].why));
    }
}

/* ---- rank maps ------------------------------------------------------------------------------- */

static void test_multiprog(void **state)
{
    static const char map[] =
        "# comment\n0-1 ./a %o\n\n3,5-6 'b c' \\\n x%t 'q%t'\n* ./rest %t.%o\n";
    static const struct {
        uint32_t rank;
        const char *words;
    } cases[] = {
        { 0, "./a|0|x" },       { 1, "./a|1|x" },      { 3, "b c||x3|q%t|x" },
        { 6, "b c||x6|q%t|x" }, { 4, "./rest|4.4|x" },
    };
    char *extra[] = { "x" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char **argv = NULL, joined[256] = "";
        size_t at = 0;

        assert_int_equal(multiprog_argv(map, cases[i].rank, extra, 1, &argv), 0);
        for (char **p = argv; *p; p++)
            at += (size_t)snprintf(joined + at, sizeof(joined) - at, "%s%s", at ? "|" : "", *p);
        assert_string_equal(joined, cases[i].words);
        (void)multiprog_free(argv);
    }
}

static void test_multiprog_refused(void **state)
{
    static const struct {
        const char *map;
        int rc;
    } cases[] = {
        { "", -ENOENT },        { "0 a\n", -ENOENT },     { "x a\n", -EINVAL },
        { "3-1 a\n", -EINVAL }, { "1 'open\n", -EINVAL }, { "1\n", -ENOENT },
        { "1- a\n", -EINVAL },  { "1,,2 a\n", -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char **argv = NULL;
        int r = multiprog_argv(cases[i].map, 1, NULL, 0, &argv);

        if (cases[i].rc == -EINVAL && r == 0) /* rank 1 was found before the bad part */
            (void)multiprog_free(argv);
        else
            assert_int_equal(r, cases[i].rc);
    }
}

/* ---- the spool ------------------------------------------------------------------------------- */

struct scan {
    unsigned jobs, steps;
    bool batch;
};

static int count(void *ctx, uint32_t job_id, uint64_t run_id, const uint32_t *step_id)
{
    struct scan *s = ctx;

    assert_int_equal(job_id, 12);
    assert_int_equal(run_id, 345);
    s->jobs += step_id ? 0 : 1;
    s->steps += step_id ? 1 : 0;
    s->batch = s->batch || (step_id && *step_id == STEP_ID_BATCH);
    return 0;
}

static void test_spool(void **state)
{
    char dir[] = "/tmp/test_stepd.XXXXXX", step[SPOOL_PATH_MAX];
    Pst__StepEnd end = PST__STEP_END__INIT, *got = NULL;
    struct scan s = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(spool_make_step(dir, 12, 345, STEP_ID_BATCH), 0);
    assert_int_equal(spool_make_step(dir, 12, 345, STEP_ID_BATCH), -EEXIST);
    assert_int_equal(spool_make_step(dir, 12, 345, 7), 0);
    spool_step_dir(dir, 12, 345, 7, step, sizeof(step));
    end.has_exit_status = true;
    end.exit_status = 256;
    assert_int_equal(spool_put_msg(step, "exit", &end.base), 0);
    assert_true(spool_has(step, "exit"));
    assert_false(spool_has(step, ".exit"));
    assert_int_equal(
        spool_get_msg(step, "exit", &pst__step_end__descriptor, (ProtobufCMessage **)&got), 0);
    assert_int_equal(got->exit_status, 256);
    pst__step_end__free_unpacked(got, NULL);
    assert_int_equal(spool_write(step, "bad", "\xff\xff", 2, 0600, (uid_t)-1, (gid_t)-1), 0);
    assert_int_equal(
        spool_get_msg(step, "bad", &pst__step_end__descriptor, (ProtobufCMessage **)&got),
        -EBADMSG);
    assert_int_equal(spool_write(dir, "job12.x", "", 0, 0600, (uid_t)-1, (gid_t)-1),
                     0); /* not ours */
    assert_int_equal(spool_scan(dir, count, &s), 0);
    assert_int_equal(s.jobs, 1);
    assert_int_equal(s.steps, 2);
    assert_true(s.batch);
    assert_int_equal(spool_remove_step(dir, 12, 345, 7), 0);
    assert_int_equal(spool_remove_job(dir, 12, 345), 0);
    assert_int_equal(spool_remove_job(dir, 12, 345), 0);
    (void)snprintf(step, sizeof(step), "%s/job12.x", dir);
    assert_int_equal(unlink(step), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Whatever a user left in his folder: the step's is gone at once, and nothing stays in the
 * spool. */
static void leave_much(const char *step)
{
    char path[SPOOL_PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/pmix", step);

    assert_int_equal(mkdir(path, 0700), 0);
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(path + n, sizeof(path) - (size_t)n, "/%u", i);
        assert_int_equal(spool_write(step, path + strlen(step) + 1, "x", 1, 0600, (uid_t)-1, 0), 0);
    }
}

static void leave_deep(const char *step)
{
    char path[SPOOL_PATH_MAX];
    size_t n = (size_t)snprintf(path, sizeof(path), "%s/oci", step);

    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(mkdir(path, 0700), 0);
        n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
    }
}

static void test_spool_left(void **state)
{
    static void (*const leave[])(const char *step) = { leave_much, leave_deep };
    char dir[] = "/tmp/test_stepd.XXXXXX", step[SPOOL_PATH_MAX];
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < ARRAY_SIZE(leave); i++) {
        assert_int_equal(spool_make_step(dir, 12, 345, 7), 0);
        spool_step_dir(dir, 12, 345, 7, step, sizeof(step));
        leave[i](step);
        assert_int_equal(spool_remove_step(dir, 12, 345, 7), 0);
        assert_int_equal(stat(step, &st), -1);
        assert_true(waitpid(-1, NULL, 0) > 0); /* the rest is another program's work */
        assert_int_equal(spool_make_step(dir, 12, 345, 7), 0);
        leave[i](step);
        assert_int_equal(spool_remove_job(dir, 12, 345), 0);
        assert_true(waitpid(-1, NULL, 0) > 0);
        assert_int_equal(waitpid(-1, NULL, 0), -1);
    }
    /* of a slurmd that ended before its rm did */
    (void)snprintf(step, sizeof(step), "%s/.removed-job12.3", dir);
    assert_int_equal(mkdir(step, 0700), 0);
    leave_deep(step);
    spool_remove_dead(dir);
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_int_equal(rmdir(dir), 0);
}

/* Users know a script by a name of its own, SPOOL/job00012/slurm_script, which is the run's. */
static void test_script_name(void **state)
{
    char dir[] = "/tmp/test_stepd.XXXXXX", step[SPOOL_PATH_MAX], later[SPOOL_PATH_MAX];
    char want[SPOOL_PATH_MAX], got[SPOOL_PATH_MAX], link[SPOOL_PATH_MAX];
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(spool_make_step(dir, 12, 345, STEP_ID_BATCH), 0);
    spool_step_dir(dir, 12, 345, STEP_ID_BATCH, step, sizeof(step));
    assert_int_equal(spool_write(step, "slurm_script", "x", 1, 0700, (uid_t)-1, (gid_t)-1), 0);
    (void)snprintf(want, sizeof(want), "%.200s/slurm_script", step);
    spool_script(step, 12, got, sizeof(got));
    assert_string_equal(got, want); /* there is no link */

    assert_int_equal(spool_link_script(dir, 12, 345), 0);
    spool_script(step, 12, got, sizeof(got));
    (void)snprintf(want, sizeof(want), "%s/job00012/slurm_script", dir);
    assert_string_equal(got, want);
    assert_int_equal(stat(got, &st), 0);
    assert_int_equal(st.st_size, 1);

    /* The next run has the name; the end of the earlier one leaves it alone. */
    assert_int_equal(spool_make_step(dir, 12, 346, STEP_ID_BATCH), 0);
    assert_int_equal(spool_link_script(dir, 12, 346), 0);
    spool_script(step, 12, got, sizeof(got));
    (void)snprintf(want, sizeof(want), "%.200s/slurm_script", step);
    assert_string_equal(got, want);
    spool_step_dir(dir, 12, 346, STEP_ID_BATCH, later, sizeof(later));
    assert_int_equal(spool_remove_job(dir, 12, 345), 0);
    spool_script(later, 12, got, sizeof(got));
    (void)snprintf(want, sizeof(want), "%s/job00012/slurm_script", dir);
    assert_string_equal(got, want);
    assert_int_equal(spool_remove_step(dir, 12, 346, STEP_ID_BATCH), 0);
    (void)snprintf(link, sizeof(link), "%s/job00012", dir);
    assert_int_equal(lstat(link, &st), -1);
    assert_int_equal(spool_remove_job(dir, 12, 346), 0);

    /* Somebody's folder of that name stays, and the script runs by its longer name. */
    assert_int_equal(mkdir(link, 0700), 0);
    assert_true(spool_link_script(dir, 12, 347) < 0);
    spool_script("/job12.347/batch", 12, got, sizeof(got));
    assert_string_equal(got, "/job12.347/batch/slurm_script");
    spool_script("batch", 12, got, sizeof(got));
    assert_string_equal(got, "batch/slurm_script");
    assert_int_equal(rmdir(link), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_patterns_of_arrays_and_steps),
        cmocka_unit_test(test_pattern_too_long),
        cmocka_unit_test(test_env_batch),
        cmocka_unit_test(test_env_gpus),
        cmocka_unit_test(test_env_tasks),
        cmocka_unit_test(test_env_epilog),
        cmocka_unit_test(test_envlist),
        cmocka_unit_test(test_login_env),
        cmocka_unit_test(test_multiprog),
        cmocka_unit_test(test_multiprog_refused),
        cmocka_unit_test(test_spool),
        cmocka_unit_test(test_spool_left),
        cmocka_unit_test(test_script_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
