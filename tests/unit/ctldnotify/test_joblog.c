/* test_joblog.c - lines of the daemon log about jobs */
#include "model_util.h"

#include "ctld/notify/joblog.h"
#include "model/job.h"

static char line[JOBLOG_LINE_MAX];

static const char *of(const Pst__JobRecord *r, Pst__EventKind kind)
{
    size_t len = joblog_line(r, kind, line);

    assert_int_equal(len, strlen(line));
    return line;
}

static Pst__JobRecord job_of(uint32_t id)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    SET(&r, job_id, id);
    r.partition = (char *)"debug";
    r.user_name = (char *)"alice";
    return r;
}

static void test_life(void **state)
{
    Pst__JobRecord r = job_of(12);
    Pst__Alloc alloc = PST__ALLOC__INIT;

    (void)state;
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_SUBMIT),
                        "JobId=12 submitted by alice: partition debug");
    alloc.nodes = (char *)"node[1-2]";
    SET(&alloc, total_cpus, 4);
    r.alloc = &alloc;
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_START),
                        "JobId=12 started: partition debug, 4 CPUs on node[1-2]");
    SET(&r, state, JOB_STATE(FAILED));
    SET(&r, start_us, 1000000);
    SET(&r, end_us, 62000000);
    SET(&r, exit_status, 2 << 8);
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_END),
                        "JobId=12 ended: FAILED, exit 2:0, after 61 s");
    SET(&r, exit_status, 9);
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_END),
                        "JobId=12 ended: FAILED, exit 0:9, after 61 s");
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_REQUEUE), "JobId=12 is queued again");
}

static void test_tasks(void **state)
{
    Pst__JobRecord r = job_of(10);

    (void)state;
    SET(&r, array_job_id, 10);
    r.array_tasks = (char *)"1-3";
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_SUBMIT),
                        "JobId=10 submitted by alice: partition debug, tasks 1-3");
    r.array_tasks = NULL;
    SET(&r, job_id, 13);
    SET(&r, array_task_id, 3);
    SET(&r, state, JOB_STATE(CANCELLED));
    assert_string_equal(of(&r, PST__EVENT_KIND__EV_JOB_END),
                        "JobId=10_3(13) ended: CANCELLED, after 0 s");
}

static void test_no_line(void **state)
{
    Pst__JobRecord r = job_of(12);
    char unused[JOBLOG_LINE_MAX];

    (void)state;
    assert_int_equal(joblog_line(&r, PST__EVENT_KIND__EV_JOB_UPDATE, unused), 0);
    assert_int_equal(joblog_line(&r, PST__EVENT_KIND__EV_JOB_END, unused), 0); /* it goes on */
}

static void test_long(void **state)
{
    Pst__JobRecord r = job_of(12);
    char nodes[2000];
    Pst__Alloc alloc = PST__ALLOC__INIT;

    (void)state;
    memset(nodes, 'n', sizeof(nodes) - 1);
    nodes[sizeof(nodes) - 1] = '\0';
    alloc.nodes = nodes;
    r.alloc = &alloc;
    assert_int_equal(strlen(of(&r, PST__EVENT_KIND__EV_JOB_START)), JOBLOG_LINE_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_no_line),
        cmocka_unit_test(test_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("joblog", tests, NULL, NULL);
}
