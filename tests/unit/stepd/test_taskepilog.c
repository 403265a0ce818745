/* test_taskepilog.c - the limits of task epilogs, and what is said of their ends */
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

#include "stepd/step.h"
#include "stepd/task/taskepilog.h"

struct fixture {
    struct step s;
    struct task task;
    Pst__StepFile sf;
    Pst__LaunchStep launch;
    int reader;
};

/* A step of one task whose user has an epilog, which runs. */
static void make_step(struct fixture *f)
{
    int p[2];

    *f = (struct fixture){ .sf = PST__STEP_FILE__INIT, .launch = PST__LAUNCH_STEP__INIT };
    f->s = (struct step){ .n_tasks = 1, .tasks = &f->task, .sf = &f->sf, .launch = &f->launch };
    f->launch.task_epilog = (char *)"/bin/sleep";
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    f->reader = p[0];
    epilog_keep(&f->task, p[1]);
    (void)close(p[1]);
    f->task.epilog.stage = EPILOG_USERS;
    f->task.epilog.pid = fork();
    assert_true(f->task.epilog.pid >= 0);
    if (f->task.epilog.pid == 0) {
        (void)setsid();
        for (;;)
            (void)pause();
    }
}

static void assert_said(struct fixture *f, const char *text)
{
    char buf[256] = "";

    assert_true(read(f->reader, buf, sizeof(buf) - 1) > 0);
    assert_non_null(strstr(buf, text));
    assert_int_equal(read(f->reader, buf, sizeof(buf)), 0); /* nobody keeps it open */
    (void)close(f->reader);
}

static void test_time_is_up(void **state)
{
    struct fixture f;
    int status;

    (void)state;
    make_step(&f);
    f.task.epilog.deadline_mono_us = 2000;
    assert_true(epilog_wanted(&f.s));
    assert_true(epilog_runs(&f.s));
    epilog_limit(&f.s, 3000); /* later than it has */
    assert_int_equal(epilog_next(&f.s), 2000);
    epilog_limit(&f.s, 1000);
    assert_int_equal(epilog_next(&f.s), 1000);
    epilog_timers(&f.s, 999);
    assert_int_equal(waitpid(f.task.epilog.pid, &status, WNOHANG), 0);
    epilog_timers(&f.s, 1000);
    assert_int_equal(epilog_next(&f.s), 0);
    assert_int_equal(waitpid(f.task.epilog.pid, &status, 0), f.task.epilog.pid);
    epilog_ended(&f.s, &f.task, status);
    assert_false(epilog_runs(&f.s));
    assert_int_equal(f.task.epilog.stage, EPILOG_OVER);
    assert_said(&f, "] error: TaskEpilog failed status=9\n");
}

static void test_site_without_limit(void **state)
{
    struct fixture f;
    pid_t pid;

    (void)state;
    make_step(&f);
    pid = f.task.epilog.pid;
    f.task.epilog.stage = EPILOG_SITES;
    assert_int_equal(epilog_next(&f.s), 0);
    epilog_timers(&f.s, INT64_MAX);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    epilog_ended(&f.s, &f.task, 3 << 8);
    assert_said(&f, "] error: --task-epilog failed status=3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_is_up),
        cmocka_unit_test(test_site_without_limit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
