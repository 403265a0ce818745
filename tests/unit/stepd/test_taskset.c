/* test_taskset.c - the one order of srun for Ctrl-C: a signal, and the kill a moment later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "stepd/step.h"

struct fixture {
    struct step s;
    struct task task;
    Pst__StepFile sf;
    Pst__JobOnNode on;
    Pst__JobRecord job;
    Pst__LaunchStep launch;
    int reader;
};

/* Step 7.0 on n1 with one task, which may ignore SIGINT. */
static void make_step(struct fixture *f, bool ignores)
{
    int said[2], ready[2];
    char c;

    *f = (struct fixture){ .sf = PST__STEP_FILE__INIT,
                           .on = PST__JOB_ON_NODE__INIT,
                           .job = PST__JOB_RECORD__INIT,
                           .launch = PST__LAUNCH_STEP__INIT };
    f->on.node_name = (char *)"n1";
    f->on.job = &f->job;
    f->sf.job = &f->on;
    f->task.epilog.err_fd = -1;
    f->s = (struct step){ .job_id = 7,
                          .step_name = "0",
                          .n_tasks = 1,
                          .n_running = 1,
                          .tasks = &f->task,
                          .sf = &f->sf,
                          .job = &f->job,
                          .launch = &f->launch };
    assert_int_equal(pipe2(said, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    f->reader = said[0];
    f->s.err_fd = said[1];
    f->task.pid = fork();
    assert_true(f->task.pid >= 0);
    if (f->task.pid == 0) {
        (void)setsid();
        (void)signal(SIGINT, ignores ? SIG_IGN : SIG_DFL);
        if (write(ready[1], "x", 1) == 1)
            for (;;)
                (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* As the step daemon's loop does, until the step is over. */
static void serve_until_over(struct fixture *f)
{
    siginfo_t si;

    while (!f->s.swept) {
        if (f->s.stage != KILL_ALL || now_mono_us() >= f->s.deadline_mono_us)
            assert_int_equal(waitid(P_PID, (id_t)f->task.pid, &si, WEXITED | WNOWAIT), 0);
        if (step_reap(&f->s))
            f->s.swept = true;
        step_timers(&f->s, now_mono_us());
    }
}

static void assert_said(struct fixture *f, const char *text)
{
    char buf[256] = "";

    (void)close(f->s.err_fd);
    (void)!read(f->reader, buf, sizeof(buf) - 1); /* nothing is an empty text */
    if (*text)
        assert_non_null(strstr(buf, text));
    else
        assert_string_equal(buf, "");
    (void)close(f->reader);
}

/* The signal ends the task long before the kill, and the line is written all the same. */
static void test_ended_by_the_signal(void **state)
{
    struct fixture f;

    (void)state;
    make_step(&f, false);
    step_signal_kill(&f.s, SIGINT);
    serve_until_over(&f);
    assert_true(WIFSIGNALED(f.task.status));
    assert_int_equal(WTERMSIG(f.task.status), SIGINT);
    step_terminate(&f.s, NULL, SIGKILL, true, 0); /* says nothing more */
    assert_said(&f, "error: *** STEP 7.0 ON n1 CANCELLED AT ");
}

static void test_killed(void **state)
{
    struct fixture f;
    int64_t began = now_mono_us();

    (void)state;
    make_step(&f, true);
    step_signal_kill(&f.s, SIGINT);
    assert_int_equal(f.s.stage, KILL_ALL);
    assert_true(f.s.deadline_mono_us > began);
    step_timers(&f.s, f.s.deadline_mono_us - 1); /* it still has time */
    assert_int_equal(waitpid(f.task.pid, NULL, WNOHANG), 0);
    step_timers(&f.s, f.s.deadline_mono_us);
    serve_until_over(&f);
    assert_int_equal(WTERMSIG(f.task.status), SIGKILL);
    assert_said(&f, " DUE to SIGNAL Killed ***\n");
}

/* Whose tasks have ended was not cancelled. */
static void test_over_before(void **state)
{
    struct fixture f;
    int status;

    (void)state;
    make_step(&f, false);
    assert_int_equal(kill(f.task.pid, SIGKILL), 0);
    assert_int_equal(waitpid(f.task.pid, &status, 0), f.task.pid);
    f.s.n_running = 0;
    f.task.exited = true;
    step_signal_kill(&f.s, SIGINT);
    assert_said(&f, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_by_the_signal),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_over_before),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
