/* test_logflags.c - DebugFlags: which subjects are on, and the form of their lines */
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
#include "base/logflags.h"
#include "base/process/threadname.h"

static void test_lists(void **state)
{
    (void)state;
    logflags_set("backfill,Nonsense,STEPS");
    assert_true(log_has_flag(LOG_SUBJECT_BACKFILL));
    assert_true(log_has_flag(LOG_SUBJECT_STEPS));
    assert_false(log_has_flag(LOG_SUBJECT_PRIORITY));
    assert_int_equal(log_subjects(),
                     UINT64_C(1) << LOG_SUBJECT_BACKFILL | UINT64_C(1) << LOG_SUBJECT_STEPS);
    logflags_set("Priority,,");
    assert_int_equal(log_subjects(), UINT64_C(1) << LOG_SUBJECT_PRIORITY);
    logflags_set(NULL);
    assert_int_equal(log_subjects(), 0);
}

/* A part of a word, or a word and more, is another word. */
static void test_whole_words(void **state)
{
    (void)state;
    logflags_set("Step,StepsX,Back");
    assert_int_equal(log_subjects(), 0);
}

static void test_changes(void **state)
{
    (void)state;
    logflags_set("Gang");
    logflags_change("license", true);
    logflags_change("nothing", true);
    logflags_change("Gang", false);
    assert_int_equal(log_subjects(), UINT64_C(1) << LOG_SUBJECT_LICENSE);
    logflags_change("License", false);
    assert_int_equal(log_subjects(), 0);
}

static void test_list(void **state)
{
    char buf[64];

    (void)state;
    logflags_set("TraceJobs,accrue,nosuch");
    logflags_list(buf, sizeof(buf));
    assert_string_equal(buf, "Accrue,TraceJobs");
    logflags_list(buf, 10); /* whole words */
    assert_string_equal(buf, "Accrue");
    logflags_set(NULL);
    logflags_list(buf, sizeof(buf));
    assert_string_equal(buf, "");
}

/* The name is the thread's, as far as it fits. */
static void test_threadname(void **state)
{
    char name[16] = "", before[16] = "";

    (void)state;
    assert_int_equal(pthread_getname_np(pthread_self(), before, sizeof(before)), 0);
    threadname_set(pthread_self(), "a-name-that-is-too-long");
    assert_int_equal(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
    assert_string_equal(name, "a-name-that-is-");
    threadname_set(pthread_self(), before);
}

static int counted(int *calls)
{
    return ++*calls;
}

static void test_lines(void **state)
{
    char path[] = "/tmp/test_logflags.XXXXXX", text[512] = "";
    _cleanup_close_ int fd = mkstemp(path);
    int calls = 0;
    const char *line;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    logflags_set("TraceJobs");
    log_flag(TRACE_JOBS, "JobId=%d is here %d", 12, counted(&calls));
    log_flag(STEPS, "JobId=%d is not told %d", 13, counted(&calls));
    log_flag(TRACE_JOBS, "no argument");
    assert_int_equal(calls, 1); /* what is off computes nothing */
    logflags_set(NULL);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    line = strstr(text, "] TraceJobs: JobId=12 is here 1\n");
    assert_non_null(line);
    assert_non_null(strstr(line, "] TraceJobs: no argument\n"));
    assert_null(strstr(text, "is not told"));
    assert_int_equal(log_open(NULL, NULL, LOG_INFO, false), 0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),   cmocka_unit_test(test_whole_words),
        cmocka_unit_test(test_changes), cmocka_unit_test(test_lines),
        cmocka_unit_test(test_list),    cmocka_unit_test(test_threadname),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
