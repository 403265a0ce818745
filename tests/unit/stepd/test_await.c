/* test_await.c - processes that the start of the tasks waits for: while the step is served, until
 * they are ready, ended, late, or the step is to end */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "stepd/step.h"

static struct step s;
static unsigned turns;

/* What serving the step brings at its n-th turn. */
static enum { NOTHING, READY, ENDS, KILLED, BREAKS } brings;
static unsigned brings_at;

static int serve_step(struct step *step)
{
    if (++turns < brings_at || brings == NOTHING)
        return 0;
    if (brings == READY)
        step->aid.ready = true;
    else if (brings == ENDS)
        assert_true(await_reaped(step, step->aid.pid, 3 << 8));
    else if (brings == KILLED)
        step->stage = KILL_TERM_SENT;
    return brings == BREAKS ? -EIO : 0;
}

static const struct step_events hooks = { .serve = serve_step };

static void begin(pid_t pid)
{
    s = (struct step){ .on = &hooks };
    turns = 0;
    brings_at = 3;
    await_begin(&s, pid);
    assert_int_equal(s.n_running, 1); /* the step lasts as long as it */
}

static void test_ready(void **state)
{
    (void)state;
    begin(4711);
    brings = READY;
    assert_int_equal(await_fd(&s, 5, INT64_MAX), 0);
    assert_int_equal(turns, 3);
    assert_int_equal(s.aid.fd, -1);
    brings = ENDS;
    assert_int_equal(await_fd(&s, -1, INT64_MAX), 0); /* its end alone is waited for */
    assert_int_equal(await_end(&s), 3 << 8);
    assert_int_equal(s.n_running, 0);
    assert_int_equal(s.aid.pid, 0);
}

/* The end of the process is no answer on its descriptor: what it wrote may be there still. */
static void test_ended_first(void **state)
{
    (void)state;
    begin(4711);
    brings = NOTHING;
    assert_true(await_reaped(&s, 4711, 0));
    brings = READY;
    assert_int_equal(await_fd(&s, 5, INT64_MAX), 0);
    assert_true(turns > 0);
    assert_int_equal(await_end(&s), 0);
}

static void test_interrupted(void **state)
{
    (void)state;
    begin(4711);
    brings = KILLED;
    assert_int_equal(await_fd(&s, 5, INT64_MAX), -ECANCELED);
    s.aid.ended = true;
    (void)await_end(&s);
    begin(4711);
    brings = BREAKS;
    assert_int_equal(await_fd(&s, 5, INT64_MAX), -EIO);
    s.aid.ended = true;
    (void)await_end(&s);
    begin(4711);
    brings = NOTHING;
    assert_int_equal(await_fd(&s, 5, now_mono_us() - 1), -ETIMEDOUT);
    s.aid.ended = true;
    (void)await_end(&s);
}

/* Other children are nobody's here, and none is when nothing is awaited. */
static void test_reaped(void **state)
{
    (void)state;
    begin(4711);
    assert_false(await_reaped(&s, 4712, 0));
    assert_false(s.aid.ended);
    assert_true(await_reaped(&s, 4711, 7));
    assert_int_equal(await_end(&s), 7);
    assert_false(await_reaped(&s, 4711, 0));
    assert_false(await_reaped(&s, 0, 0));
}

static int reap_step(struct step *step)
{
    int status;
    pid_t pid = waitpid(step->aid.pid, &status, 0);

    assert_int_equal(pid, step->aid.pid);
    assert_true(await_reaped(step, pid, status));
    return 0;
}

/* A process that goes on is killed, with what it started in its session. */
static void test_killed(void **state)
{
    static const struct step_events reaps = { .serve = reap_step };
    int p[2], status;
    pid_t pid;
    char c;

    (void)state;
    assert_int_equal(pipe(p), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setsid();
        if (fork() >= 0) /* both stay */
            (void)!write(p[1], "x", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(p[0], &c, 1), 1);
    assert_int_equal(read(p[0], &c, 1), 1);
    (void)close(p[1]);
    begin(pid);
    s.on = &reaps;
    status = await_end(&s);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(read(p[0], &c, 1), 0); /* the other has gone too */
    (void)close(p[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready),       cmocka_unit_test(test_ended_first),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_reaped),
        cmocka_unit_test(test_killed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
