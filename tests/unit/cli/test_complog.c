/* test_complog.c - lines of the log of ended runs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/query/complog.h"

#define WHOLE                                                                                      \
    "JobId=7 UserId=alice(1234) GroupId=g(1000) Name=a name JobState=FAILED Partition=debug "      \
    "TimeLimit=60 StartTime=2026-01-02T03:04:05 EndTime=2026-01-02T04:04:05 NodeList=n[1-2] "      \
    "NodeCnt=2 ProcCnt=4 WorkDir=/tmp/a b ReservationName= Tres=cpu=4,node=2 Account=acc "         \
    "QOS=normal WcKey= Cluster=other SubmitTime=2026-01-02T03:04:00 EligibleTime=Unknown "         \
    "ArrayJobId=5 ArrayTaskId=2 DerivedExitCode=1:0 ExitCode=3:9 \n"

static void test_whole_line(void **state)
{
    char line[] = WHOLE;
    Pst__AcctJob *a = NULL;
    const Pst__JobRecord *j;

    (void)state;
    assert_int_equal(complog_parse(line, &a), 0);
    j = a->job;
    assert_int_equal(j->job_id, 7);
    assert_string_equal(j->user_name, "alice");
    assert_int_equal(j->uid, 1234);
    assert_string_equal(j->group_name, "g");
    assert_string_equal(j->name, "a name");
    assert_int_equal(j->state, PST__JOB_STATE__JOB_FAILED);
    assert_string_equal(j->partition, "debug");
    assert_int_equal(j->time_limit_min, 60);
    assert_int_equal(j->end_us - j->start_us, INT64_C(3600) * 1000000);
    assert_string_equal(j->alloc->nodes, "n[1-2]");
    assert_int_equal(j->min_nodes, 2);
    assert_int_equal(j->alloc->total_cpus, 4);
    assert_string_equal(j->work_dir, "/tmp/a b");
    assert_null(j->reservation);
    assert_string_equal(j->alloc_tres, "cpu=4,node=2");
    assert_null(j->wckey);
    assert_string_equal(a->cluster, "other");
    assert_false(j->has_eligible_us);
    assert_int_equal(j->array_job_id, 5);
    assert_int_equal(j->array_task_id, 2);
    assert_int_equal(j->derived_exit_status, 1 << 8);
    assert_int_equal(j->exit_status, 3 << 8 | 9);
    pst__acct_job__free_unpacked(a, NULL);
}

static void test_other_lines(void **state)
{
    static const struct {
        const char *line;
        int rc;
    } rows[] = {
        { "", -EBADMSG },
        { "JobId=1", -EBADMSG },
        { "JobId=x JobState=FAILED", -EBADMSG },
        { "JobId=99999999999 JobState=FAILED", -EBADMSG },
        { "JobId=1 JobState=LOST", -EBADMSG },
        { "JobId=1 JobState=REQUEUED", -EBADMSG }, /* a flag is no state of its own */
        { "XJobId=1 JobState=FAILED", -EBADMSG },
        { "JobId=1 JobState=FAILED", 0 },
        { "JobId=1 UserId=5 JobState=COMPLETED TimeLimit=UNLIMITED NodeList=(null) NodeCnt=0", 0 },
        { "JobId=1 UserId= JobState=COMPLETED ExitCode=:", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[256];
        Pst__AcctJob *a = NULL;

        (void)snprintf(line, sizeof(line), "%s", rows[i].line);
        assert_int_equal(complog_parse(line, &a), rows[i].rc);
        assert_int_equal(a != NULL, rows[i].rc == 0);
        if (a)
            pst__acct_job__free_unpacked(a, NULL);
    }
}

static int count_job(void *ctx, Pst__AcctJob *a)
{
    unsigned *n = ctx;

    assert_int_equal(a->job->job_id, 7);
    return ++*n == 3 ? -ECANCELED : 0;
}

static void test_file(void **state)
{
    char path[] = "/tmp/penstock-complog-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    unsigned n = 0;
    size_t bad = 99;

    (void)state;
    assert_non_null(f);
    (void)fprintf(f, WHOLE "no record\n");
    for (size_t i = 0; i < COMPLOG_LINE_MAX + 10; i++)
        (void)fputc('x', f);
    (void)fprintf(f, "\n" WHOLE);
    assert_int_equal(fflush(f), 0);
    assert_int_equal(complog_read(path, count_job, &n, &bad), 0);
    assert_int_equal(n, 2);
    assert_int_equal(bad, 2);
    assert_int_equal(complog_read(path, count_job, &n, &bad), -ECANCELED);
    (void)fclose(f);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(complog_read(path, count_job, &n, &bad), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_line),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
