/* test_taskinput.c - standard input that waits for tasks, and signals of clients */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/step.h"

#define N_TASKS 2

struct fixture {
    struct step s;
    struct task tasks[N_TASKS];
    int readers[N_TASKS];
};

static void make_step(struct fixture *f)
{
    *f = (struct fixture){ .s = { .n_tasks = N_TASKS } };
    f->s.tasks = f->tasks;
    for (int i = 0; i < N_TASKS; i++) {
        int p[2];

        assert_int_equal(pipe2(p, O_NONBLOCK | O_CLOEXEC), 0);
        f->tasks[i] = (struct task){ .rank = (uint32_t)i, .fd = { p[1], -1, -1 } };
        f->readers[i] = p[0];
    }
}

static void end_step(struct fixture *f)
{
    for (int i = 0; i < N_TASKS; i++) {
        input_done(&f->tasks[i]);
        (void)close(f->readers[i]);
    }
    assert_int_equal(f->s.in_waits.bytes, 0);
    assert_int_equal(f->s.in_waits.pieces, 0);
}

static void give_bytes(struct fixture *f, const char *data, size_t len, int task, bool eof)
{
    Pst__StepIo io = PST__STEP_IO__INIT;

    io.has_data = len > 0;
    io.data.data = (uint8_t *)data;
    io.data.len = len;
    io.has_task_id = task >= 0;
    io.task_id = task >= 0 ? (uint32_t)task : 0;
    io.has_eof = io.eof = eof;
    input_give(&f->s, &io);
}

static void test_all_and_one(void **state)
{
    struct fixture f;
    char buf[16];

    (void)state;
    make_step(&f);
    give_bytes(&f, "both", 4, -1, false);
    give_bytes(&f, "one", 3, 1, true);
    assert_int_equal(read(f.readers[0], buf, sizeof(buf)), 4);
    assert_memory_equal(buf, "both", 4);
    assert_int_equal(read(f.readers[0], buf, sizeof(buf)), -1); /* still open */
    assert_int_equal(read(f.readers[1], buf, sizeof(buf)), 7);
    assert_memory_equal(buf, "bothone", 7);
    assert_int_equal(read(f.readers[1], buf, sizeof(buf)), 0); /* the end came with the input */
    assert_int_equal(f.tasks[1].fd[0], -1);
    end_step(&f);
}

/* A piece for two tasks waits once; while too much waits no client is read. */
static void test_waiting(void **state)
{
    static char block[STEP_CHUNK];
    struct fixture f;
    size_t given = 0, taken = 0;
    ssize_t n;

    (void)state;
    make_step(&f);
    while (!input_full(&f.s)) {
        give_bytes(&f, block, sizeof(block), -1, false);
        given += sizeof(block);
        assert_true(given < 4 * STEP_STDIN_MAX);
    }
    assert_true(f.s.in_waits.bytes <= given);
    assert_true(input_waits(&f.s) > 0);
    while ((n = read(f.readers[0], block, sizeof(block))) > 0) {
        taken += (size_t)n;
        input_write(&f.tasks[0]);
    }
    assert_int_equal(taken, given);
    assert_int_equal(f.tasks[0].in.len, 0);
    assert_true(input_full(&f.s)); /* the other task has taken nothing */
    input_close(&f.tasks[1]);
    assert_false(input_full(&f.s));
    assert_int_equal(input_waits(&f.s), 0);
    end_step(&f);
}

/* Very small pieces count too: each costs memory of its own. */
static void test_small_pieces(void **state)
{
    static char block[STEP_CHUNK];
    struct fixture f;
    unsigned n = 0;

    (void)state;
    make_step(&f);
    while (!input_full(&f.s) && n < 100) { /* fill the pipes */
        give_bytes(&f, block, sizeof(block), 0, false);
        if (input_waits(&f.s))
            break;
        n++;
    }
    for (n = 0; !input_full(&f.s) && n < 100000; n++)
        give_bytes(&f, "x", 1, 0, false);
    assert_true(n > 100 && n < 2000);
    end_step(&f);
}

/* ---- signals --------------------------------------------------------------------------------- */

static struct {
    int signal, killed_after, terminated;
    bool now;
    const char *reason;
} heard;

static void note_signal(struct step *s, int sig, bool leader_only)
{
    (void)s;
    assert_false(leader_only);
    heard.signal = sig;
}

static void note_kill(struct step *s, int sig)
{
    (void)s;
    heard.killed_after = sig;
}

static void note_end(struct step *s, const char *reason, int shown_signal, bool now,
                     uint32_t kill_wait_s)
{
    (void)s;
    (void)kill_wait_s;
    heard.reason = reason;
    heard.terminated = shown_signal;
    heard.now = now;
}

static void test_signals(void **state)
{
    static const struct step_events on = { .signal = note_signal,
                                           .signal_kill = note_kill,
                                           .terminate = note_end };
    static const struct {
        bool terminate;
        uint32_t signal;
        int want_signal, want_end;
        bool want_now;
        uint32_t first; /* before SIGKILL */
        int want_first;
        bool failed; /* a task ended badly */
    } cases[] = {
        { false, SIGUSR1, SIGUSR1, 0, false, 0, 0, false },
        { false, SIGKILL, 0, SIGKILL, true, 0, 0, false },
        { true, 0, 0, SIGTERM, false, 0, 0, false },
        { true, SIGINT, 0, SIGINT, false, 0, 0, false },
        { true, SIGKILL, 0, SIGKILL, true, 0, 0, false },
        { false, 0, 0, 0, false, 0, 0, false },
        { false, 65, 0, 0, false, 0, 0, false },
        { true, SIGKILL, 0, 0, false, SIGINT, SIGINT, false },
        { true, SIGKILL, 0, SIGKILL, true, 65, 0, false }, /* no such signal */
        { true, SIGTERM, 0, SIGTERM, false, SIGINT, 0, false },
        { true, 0, 0, SIGTERM, false, 0, 0, true },
    };
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct step s = { .on = &on, .sf = &sf };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__StepSignal sig = PST__STEP_SIGNAL__INIT;

        memset(&heard, 0, sizeof(heard));
        sig.has_terminate = sig.terminate = cases[i].terminate;
        sig.has_signal = true;
        sig.signal = cases[i].signal;
        sig.has_first = true;
        sig.first = cases[i].first;
        sig.has_task_failed = sig.task_failed = cases[i].failed;
        input_signal(&s, &sig);
        assert_int_equal(heard.signal, cases[i].want_signal);
        assert_int_equal(heard.terminated, cases[i].want_end);
        assert_int_equal(heard.now, cases[i].want_now);
        assert_int_equal(heard.killed_after, cases[i].want_first);
        if (cases[i].failed)
            assert_string_equal(heard.reason, "DUE TO TASK FAILURE");
        else
            assert_null(heard.reason);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_and_one),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_small_pieces),
        cmocka_unit_test(test_signals),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
