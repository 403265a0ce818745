/* test_notice.c - the step daemon's own lines, as a person sees them in a job's output */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "stepd/step.h"

/* A batch step whose standard error is this pipe's end. */
static int ends[2];

static struct step step_here(void)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    return (struct step){ .uid = geteuid(), .gid = getegid(), .out_fd = -1, .err_fd = ends[1] };
}

static const char *said(void)
{
    static char text[4096];
    ssize_t n = read(ends[0], text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void done(void)
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void assert_line(const char *text, const char *pattern)
{
    regex_t re;

    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&re, text, 0, NULL, 0) != 0)
        fail_msg("%s", text);
    regfree(&re);
}

#define STAMP "\\[[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}\\]"

/* "[2026-01-01T00:00:00.123] error: text", as slurmstepd writes it; a label stands before it. */
static void test_lines(void **state)
{
    struct step s = step_here();

    (void)state;
    step_notice(&s, "*** JOB %d ON %s CANCELLED ***", 12, "node1");
    assert_line(said(), "^" STAMP " error: \\*\\*\\* JOB 12 ON node1 CANCELLED \\*\\*\\*\n$");
    step_notice_of(&s, "3: ", "couldn't chdir");
    assert_line(said(), "^3: " STAMP " error: couldn't chdir\n$");
    task_notice(&s, s.err_fd, "task %d", 7);
    assert_line(said(), "^" STAMP " error: task 7\n$");
    done();
}

/* A text of any length is cut, and still ends its line's own memory. */
static void test_long(void **state)
{
    struct step s = step_here();
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    step_notice(&s, "%s", text);
    assert_true(strlen(said()) < 1400);
    step_notice_of(&s, text, "%s", text);
    assert_true(strlen(said()) < 1400);
    done();
}

/* --slurmd-debug: lines up to that level; info has no word before it. */
static void test_debug(void **state)
{
    struct step s = step_here();
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;

    (void)state;
    step_debug(&s, LOG_INFO, "nobody asked");
    assert_string_equal(said(), "");
    s.launch = &launch;
    step_debug(&s, LOG_INFO, "nobody asked");
    assert_string_equal(said(), "");
    launch.has_slurmd_debug = true;
    launch.slurmd_debug = LOG_INFO;
    step_debug(&s, LOG_DEBUG, "too much");
    assert_string_equal(said(), "");
    step_debug(&s, LOG_INFO, "started");
    assert_line(said(), "^" STAMP " started\n$");
    launch.slurmd_debug = LOG_DEBUG;
    step_debug(&s, LOG_DEBUG, "more");
    assert_line(said(), "^" STAMP " debug: more\n$");
    done();
}

/* A reader that is slow loses the line; the step daemon goes on. */
static void test_slow(void **state)
{
    struct step s = step_here();
    char fill[65536] = { 0 };

    (void)state;
    while (write(ends[1], fill, sizeof(fill)) > 0)
        ;
    step_notice(&s, "lost");
    done();
}

/* No stream at all, and no line at all. */
static void test_nowhere(void **state)
{
    struct step s = { .uid = geteuid(), .gid = getegid(), .out_fd = -1, .err_fd = -1 };

    (void)state;
    step_notice(&s, "lost");
    step_tell(&s, NULL);
    s = step_here();
    step_tell(&s, NULL);
    assert_string_equal(said(), "");
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines), cmocka_unit_test(test_long),    cmocka_unit_test(test_debug),
        cmocka_unit_test(test_slow),  cmocka_unit_test(test_nowhere),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
