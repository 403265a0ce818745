/* test_noded.c - batch jobs, restarts, prolog and epilog of a real slurmd */
#include "noded_util.h"

/* ---- batch jobs ------------------------------------------------------------------------------ */

static void test_batch(void **state)
{
    const struct seen_end *e;

    (void)state;
    launch(1,
           "#!/bin/sh\necho id $SLURM_JOB_ID step $SLURM_STEP_ID pid $SLURM_TASK_PID $$\nexit 3\n");
    WAIT_FOR(find_end(1, STEP_ID_BATCH));
    e = find_end(1, STEP_ID_BATCH);
    assert_int_equal(e->status, 3 << 8);
    assert_true(e->node_clean);
    assert_int_equal(e->run_id, 1001);
    assert_true(file_has("slurm-1.out", "id 1 step -5 pid "));
    WAIT_POLL(spool_empty());
}

static void test_same_launch_twice(void **state)
{
    size_t before = ctl.n_launched;

    (void)state;
    launch(2, "#!/bin/sh\necho run >>once\nwhile [ ! -e go2 ]; do sleep 0.05; done\n");
    WAIT_FOR(ctl.n_launched == before + 1);
    launch(2, "#!/bin/sh\necho run >>once\n");
    launch(2, "#!/bin/sh\necho run >>once\n");
    touch("go2");
    WAIT_FOR(find_end(2, STEP_ID_BATCH));
    assert_string_equal(slurp("once"), "run\n");
    WAIT_POLL(spool_empty());
}

static void test_setup_failures(void **state)
{
    struct job_parts p;

    (void)state;
    fill_job(&p, 3, 1);
    p.job.std_out = "/dev/null/dir/x.out";
    launch_parts(&p, "#!/bin/sh\ntrue\n");
    fill_job(&p, 4, 1);
    p.job.work_dir = "/dev/null/dir";
    launch_parts(&p, "#!/bin/sh\ntrue\n");
    fill_job(&p, 5, 1);
    launch_parts(&p, "#!/dev/null/shell\ntrue\n");
    WAIT_FOR(find_end(3, STEP_ID_BATCH) && find_end(4, STEP_ID_BATCH) &&
             find_end(5, STEP_ID_BATCH));
    assert_int_equal(find_end(3, STEP_ID_BATCH)->status, 53);
    assert_int_equal(find_end(4, STEP_ID_BATCH)->status, 53);
    assert_int_equal(find_end(5, STEP_ID_BATCH)->status, ENOENT << 8);
    assert_true(file_has("slurm-5.out", "error: execve(): "));
    WAIT_POLL(spool_empty());
}

static void test_leftovers_are_killed(void **state)
{
    (void)state;
    launch(6, "#!/bin/sh\nsetsid sh -c 'echo $$ >left6; exec sleep 1000' &\n"
              "while [ ! -s left6 ]; do sleep 0.02; done\nexit 0\n");
    WAIT_FOR(find_end(6, STEP_ID_BATCH));
    assert_int_equal(find_end(6, STEP_ID_BATCH)->status, 0);
    assert_int_equal(kill((pid_t)strtol(slurp("left6"), NULL, 10), 0), -1);
}

static void test_cancel(void **state)
{
    size_t launched = ctl.n_launched;

    (void)state;
    launch(7, "#!/bin/sh\ntrap 'echo TERM; exit 5' TERM\necho up\nwhile :; do sleep 0.05; done\n");
    WAIT_FOR(ctl.n_launched > launched);
    WAIT_POLL(file_has("slurm-7.out", "up"));
    terminate(7, "DUE TO TIME LIMIT", false);
    WAIT_FOR(find_end(7, STEP_ID_BATCH) && ctl.last_clean == 7);
    assert_int_equal(find_end(7, STEP_ID_BATCH)->status, 5 << 8);
    assert_true(file_has("slurm-7.out", "error: *** JOB 7 ON n1 CANCELLED AT "));
    assert_true(file_has("slurm-7.out", " DUE TO TIME LIMIT ***\n"));
    WAIT_POLL(spool_empty());
}

static void test_cancel_needs_kill(void **state)
{
    (void)state;
    launch(8, "#!/bin/sh\ntrap '' TERM\necho up\nwhile :; do sleep 0.05; done\n");
    WAIT_POLL(file_has("slurm-8.out", "up"));
    terminate(8, NULL, false);
    WAIT_FOR(find_end(8, STEP_ID_BATCH) && ctl.last_clean == 8);
    assert_int_equal(find_end(8, STEP_ID_BATCH)->status, SIGKILL);
    assert_true(file_has("slurm-8.out", " DUE to SIGNAL Terminated ***\n"));
}

static void test_unknown_job_is_clean(void **state)
{
    (void)state;
    terminate(4711, NULL, false);
    WAIT_FOR(ctl.last_clean == 4711);
}

static void send_signal_steps(uint32_t id, int sig, bool batch_only, int suspend)
{
    Pst__SignalSteps m = PST__SIGNAL_STEPS__INIT;

    m.has_job_id = m.has_run_id = true;
    m.job_id = id;
    m.run_id = 1000 + id;
    m.has_signal = sig > 0;
    m.signal = (uint32_t)sig;
    m.has_batch_script_only = m.batch_script_only = batch_only;
    m.has_suspend = m.suspend = suspend > 0;
    m.has_resume = m.resume = suspend < 0;
    send_node(OP_SIGNAL_STEPS, &m.base);
}

static void test_signal_batch(void **state)
{
    (void)state;
    launch(9, "#!/bin/sh\ntrap 'echo USR1; exit 0' USR1\necho up\nwhile :; do sleep 0.05; done\n");
    WAIT_POLL(file_has("slurm-9.out", "up"));
    send_signal_steps(9, SIGUSR1, true, 0);
    WAIT_FOR(find_end(9, STEP_ID_BATCH));
    assert_int_equal(find_end(9, STEP_ID_BATCH)->status, 0);
    assert_true(file_has("slurm-9.out", "USR1"));
}

static char state_of(const char *pid_file)
{
    char path[64], buf[256], c = '?';
    const char *pid = slurp(pid_file), *p;
    FILE *f;

    if (!pid)
        return '?';
    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", strtol(pid, NULL, 10));
    f = fopen(path, "r");
    if (!f)
        return '?';
    if (fgets(buf, sizeof(buf), f) && (p = strrchr(buf, ')')))
        c = p[2];
    (void)fclose(f);
    return c;
}

static void test_suspend(void **state)
{
    (void)state;
    /* It starts nobody: who waits in vfork for a child that was stopped before its exec is not
     * shown as stopped. */
    launch(10, "#!/bin/sh\nmkfifo never10\necho $$ >pid10\nread line <never10\n");
    WAIT_POLL(state_of("pid10") != '?');
    send_signal_steps(10, 0, false, 1);
    WAIT_POLL(state_of("pid10") == 'T');
    send_signal_steps(10, 0, false, -1);
    WAIT_POLL(state_of("pid10") != 'T');
    terminate(10, NULL, true);
    WAIT_FOR(find_end(10, STEP_ID_BATCH) && ctl.last_clean == 10);
    assert_int_equal(find_end(10, STEP_ID_BATCH)->status, SIGKILL);
}

/* Root only: the job is its user's in every respect, and cannot write where root could. */
static void test_other_user(void **state)
{
    struct job_parts p;
    char home[96], out[128];
    uint32_t gids[2] = { 65534, 12345 };

    (void)state;
    if (getuid() != 0)
        skip();
    (void)snprintf(home, sizeof(home), "%s/home", dir);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(chown(home, 65534, 65534), 0);
    for (uint32_t id = 11; id <= 12; id++) {
        fill_job(&p, id, 1);
        p.job.uid = p.job.gid = 65534;
        p.job.user_name = "nobody";
        p.job.work_dir = home;
        p.on.gids = gids;
        p.on.n_gids = 2;
        p.job.has_umask = true;
        p.job.umask = 077;
        (void)snprintf(out, sizeof(out), "%s/forbidden", dir);
        if (id == 12)
            p.job.std_out = out;
        launch_parts(&p, "#!/bin/sh\nid -u; id -g; id -G; umask; ulimit -n; cat $0 >/dev/null && "
                         "echo readable\n");
    }
    WAIT_FOR(find_end(11, STEP_ID_BATCH) && find_end(12, STEP_ID_BATCH));
    assert_int_equal(find_end(11, STEP_ID_BATCH)->status, 0);
    assert_true(file_has("home/slurm-11.out", "65534\n65534\n65534 12345\n0077\n"));
    assert_true(file_has("home/slurm-11.out", "readable\n"));
    assert_int_equal(find_end(12, STEP_ID_BATCH)->status, 53);
    assert_null(slurp("forbidden"));
}

/* ---- restarts -------------------------------------------------------------------------------- */

static void test_job_outlives_slurmd(void **state)
{
    (void)state;
    launch(20, "#!/bin/sh\necho up\nwhile [ ! -e go20 ]; do sleep 0.02; done\nexit 7\n");
    launch(21, "#!/bin/sh\necho up\nwhile [ ! -e go21 ]; do sleep 0.02; done\nexit 8\n");
    WAIT_POLL(file_has("slurm-20.out", "up"));
    WAIT_POLL(file_has("slurm-21.out", "up"));
    stop_slurmd(SIGKILL);
    touch("go20"); /* ends while slurmd is away */
    WAIT_POLL(slurp("spool.n1/job20.1020/batch/exit"));
    start_slurmd();
    WAIT_FOR(find_end(20, STEP_ID_BATCH));
    assert_int_equal(ctl.running, 1);
    assert_int_equal(find_end(20, STEP_ID_BATCH)->status, 7 << 8);
    assert_null(find_end(21, STEP_ID_BATCH));
    touch("go21"); /* ends under the new slurmd */
    WAIT_FOR(find_end(21, STEP_ID_BATCH));
    assert_int_equal(find_end(21, STEP_ID_BATCH)->status, 8 << 8);
    WAIT_POLL(spool_empty());
}

static void test_unacknowledged_end_is_told_again(void **state)
{
    size_t n;

    (void)state;
    ctl.mute = true;
    launch(22, "#!/bin/sh\nexit 9\n");
    WAIT_FOR(find_end(22, STEP_ID_BATCH));
    assert_false(spool_empty());
    stop_slurmd(SIGKILL);
    ctl.mute = false;
    n = ctl.n_ends;
    start_slurmd();
    WAIT_FOR(ctl.n_ends > n);
    assert_int_equal(ctl.ends[n].job_id, 22);
    assert_int_equal(ctl.ends[n].status, 9 << 8);
    assert_true(ctl.ends[n].node_clean);
    WAIT_POLL(spool_empty());
}

static void test_refused_report_is_repeated(void **state)
{
    size_t n = ctl.n_ends;

    (void)state;
    ctl.refusals = 1;
    launch(24, "#!/bin/sh\nexit 2\n");
    WAIT_FOR(ctl.n_ends == n + 2);
    assert_int_equal(ctl.ends[n].job_id, 24);
    assert_int_equal(ctl.ends[n + 1].job_id, 24);
    WAIT_POLL(spool_empty());
}

static pid_t stepd_of(uint32_t job)
{
    char title[64], path[64], buf[128], cwd[PATH_MAX];
    pid_t found = 0;
    struct dirent *e;
    DIR *d = opendir("/proc");

    assert_non_null(d);
    (void)snprintf(title, sizeof(title), "slurmstepd: [%u.batch]", job);
    while (!found && (e = readdir(d))) {
        long pid = strtol(e->d_name, NULL, 10);
        ssize_t len;
        FILE *f;

        (void)snprintf(path, sizeof(path), "/proc/%ld/cwd", pid);
        len = pid > 0 ? readlink(path, cwd, sizeof(cwd) - 1) : -1;
        if (len < 0 || strncmp(cwd, dir, strlen(dir)) != 0) /* of another run of this test */
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
        f = fopen(path, "r");
        if (!f)
            continue;
        if (fgets(buf, sizeof(buf), f) && strcmp(buf, title) == 0)
            found = (pid_t)pid;
        (void)fclose(f);
    }
    (void)closedir(d);
    return found;
}

static void test_killed_step_daemon(void **state)
{
    pid_t left;

    (void)state;
    launch(23, "#!/bin/sh\nsetsid sh -c 'echo $$ >left23; exec sleep 1000' &\nwait\n");
    WAIT_POLL(slurp("left23") && *slurp("left23"));
    left = (pid_t)strtol(slurp("left23"), NULL, 10);
    WAIT_POLL(stepd_of(23) > 0);
    assert_int_equal(kill(stepd_of(23), SIGKILL), 0);
    WAIT_FOR(find_end(23, STEP_ID_BATCH));
    assert_int_equal(find_end(23, STEP_ID_BATCH)->status, SIGKILL);
    assert_string_equal(find_end(23, STEP_ID_BATCH)->error, "the step daemon was killed");
    WAIT_POLL(kill(left, 0) < 0);
}

/* ---- many ------------------------------------------------------------------------------------ */

static void test_burst(void **state)
{
    unsigned reports = ctl.reports;

    (void)state;
    for (uint32_t i = 0; i < 50; i++)
        launch(100 + i, "#!/bin/sh\n");
    for (uint32_t i = 0; i < 50; i++)
        WAIT_FOR(find_end(100 + i, STEP_ID_BATCH));
    assert_true(ctl.reports - reports <= 101);
    WAIT_POLL(spool_empty());
}

/* ---- prolog and epilog ----------------------------------------------------------------------- */

static void write_script(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_prolog_epilog(void **state)
{
    char extra[256], script[512];

    (void)state;
    stop_slurmd(SIGTERM);
    (void)snprintf(script, sizeof(script),
                   "#!/bin/sh\nPATH=/usr/bin:/bin; env >>%s/$SLURM_SCRIPT_CONTEXT.$SLURM_JOB_ID\n"
                   "test $SLURM_JOB_ID != 51\n",
                   dir);
    write_script("pro.sh", script);
    write_script("epi.sh", script);
    (void)snprintf(extra, sizeof(extra), "Prolog=%s/pro.sh\nEpilog=%s/epi.sh\n", dir, dir);
    write_conf(extra);
    start_slurmd();
    launch(50, "#!/bin/sh\nexit 3\n");
    WAIT_FOR(find_end(50, STEP_ID_BATCH));
    /* an Epilog may last: the end is told before it runs, and it runs when the job is ended */
    assert_false(find_end(50, STEP_ID_BATCH)->node_clean);
    assert_null(slurp("epilog_slurmd.50"));
    end_job(50);
    assert_true(file_has("prolog_slurmd.50", "SLURM_JOB_UID="));
    assert_true(file_has("epilog_slurmd.50", "SLURM_JOB_EXIT_CODE2=3:0"));
    assert_int_equal(ctl.drain[0], 0);
    ctl.first_drain[0] = '\0';
    launch(51, "#!/bin/sh\necho never >never51\n");
    WAIT_FOR(ctl.prolog_failed == 51);
    assert_string_equal(ctl.first_drain, "Prolog error");
    end_job(51);
    assert_null(slurp("never51"));
    WAIT_POLL(spool_empty());
    stop_slurmd(SIGTERM);
    write_conf("");
    start_slurmd();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_same_launch_twice),
        cmocka_unit_test(test_setup_failures),
        cmocka_unit_test(test_leftovers_are_killed),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_needs_kill),
        cmocka_unit_test(test_unknown_job_is_clean),
        cmocka_unit_test(test_signal_batch),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_other_user),
        cmocka_unit_test(test_job_outlives_slurmd),
        cmocka_unit_test(test_unacknowledged_end_is_told_again),
        cmocka_unit_test(test_refused_report_is_repeated),
        cmocka_unit_test(test_killed_step_daemon),
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_prolog_epilog),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
