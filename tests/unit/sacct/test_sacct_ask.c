/* test_sacct_ask.c - the window of time that sacct asks for: sacct(1), DEFAULT TIME WINDOW */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/sacct/sacct_ask.h"

#define SEC USEC_PER_SEC
#define MIDNIGHT (INT64_C(1772658000) * SEC) /* 2026-03-05 in a zone three hours east */
#define NOW (MIDNIGHT + 49510 * SEC + 7)     /* 13:45:10 there */
#define GIVEN (MIDNIGHT - 86400 * SEC)
#define LATER (GIVEN + 3600 * SEC)

#define NO SACCT_NO_TIME

/* -S and -E as given (0: not), -j, -s; the window, and which ends the request has. */
static const struct {
    int64_t since, until;
    bool jobs, states;
    int64_t start, end;
    bool asks_start, asks_end;
} rows[] = {
    { 0, 0, false, false, MIDNIGHT, NOW, true, true },
    { GIVEN, 0, false, false, GIVEN, NOW, true, true },
    { 0, LATER + 86400 * SEC, false, false, MIDNIGHT, LATER + 86400 * SEC, true, true },
    { GIVEN, LATER, false, false, GIVEN, LATER, true, true },
    /* with ids: from the beginning, and jobs that run on */
    { 0, 0, true, false, 0, NOW, false, false },
    { 0, LATER, true, false, 0, LATER, false, true },
    { GIVEN, 0, true, false, GIVEN, NOW, true, false },
    /* with states: what is so now, or was so at that moment */
    { 0, 0, false, true, NOW, NOW, true, true },
    { GIVEN, 0, false, true, GIVEN, GIVEN, true, true },
    { GIVEN, LATER, false, true, GIVEN, LATER, true, true },
    { 0, LATER, false, true, LATER, LATER, true, true },
    /* both */
    { 0, 0, true, true, 0, NOW, false, false },
    { GIVEN, 0, true, true, GIVEN, GIVEN, true, false },
    /* -S "$FROM" where FROM is not set: as without the option */
    { NO, 0, false, false, MIDNIGHT, NOW, true, true },
    { NO, NO, true, false, 0, NOW, false, false },
    { GIVEN, NO, false, false, GIVEN, NOW, true, true },
};

static struct sacct as_given(int64_t since, int64_t until, bool jobs, bool states)
{
    static struct ids id;
    struct sacct s = { .request = PST__ACCT_FILTER__INIT };

    s.have_start = since != 0;
    s.start_us = since;
    s.have_end = until != 0;
    s.end_us = until;
    s.filter.ids.ids = &id;
    s.filter.ids.n = jobs;
    s.filter.have_states = states;
    return s;
}

static int set_zone(void **state)
{
    (void)state;
    tzset();
    return setenv("TZ", "EST-3", 1);
}

static void test_windows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sacct s = as_given(rows[i].since, rows[i].until, rows[i].jobs, rows[i].states);

        sacct_make_window(&s, NOW);
        if (s.start_us != rows[i].start || s.end_us != rows[i].end ||
            s.request.has_start_us != rows[i].asks_start ||
            s.request.has_end_us != rows[i].asks_end || s.request.start_us != s.start_us ||
            s.request.end_us != s.end_us)
            fail_msg("row %zu: %lld to %lld", i, (long long)s.start_us, (long long)s.end_us);
    }
}

/* B16 of the recorded behaviours. */
static void test_backwards(void **state)
{
    struct sacct s = as_given(LATER, GIVEN, false, false);
    char text[256] = "";
    int fds[2], status;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        cli_init(&s.cli, "sacct");
        sacct_make_window(&s, NOW);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_string_equal(text,
                        "sacct: error: Start time (2026-03-04T01:00:00) requested is after end "
                        "time (2026-03-04T00:00:00).\n");
    (void)close(fds[0]);
    (void)close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_backwards),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_zone, NULL);
}
