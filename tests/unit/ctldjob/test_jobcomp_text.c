/* test_jobcomp_text.c - records of jobs that ended, as a line and as JSON */
#include "model_util.h"

#include "ctld/notify/jobcomp.h"

#define START_US (INT64_C(1700000000) * SEC) /* 2023-11-14T22:13:20 */

struct sample {
    Pst__JobNote note;
    Pst__JobRecord job;
    Pst__Alloc alloc;
};

static void make_sample(struct sample *s)
{
    pst__job_note__init(&s->note);
    pst__job_record__init(&s->job);
    pst__alloc__init(&s->alloc);
    s->note.job = &s->job;
    s->job.alloc = &s->alloc;
    s->alloc.nodes = (char *)"n[1-3]"; /* borrowed: nothing here is freed */
    SET(&s->alloc, total_cpus, 12);
    SET(&s->job, job_id, 7);
    SET(&s->job, uid, 1000);
    SET(&s->job, gid, 100);
    s->job.user_name = (char *)"alice";
    s->job.name = (char *)"sim";
    SET(&s->job, state, JOB_STATE(COMPLETED));
    SET(&s->job, submit_us, START_US - 60 * SEC);
    SET(&s->job, start_us, START_US);
    SET(&s->job, end_us, START_US + 90 * SEC);
}

static void expect_line(const struct sample *s, const char *what, bool there)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    bool found;

    assert_int_equal(jobcomp_line(&s->note, "c1", &sb), 0);
    found = strstr(strbuf_str(&sb), what) != NULL;
    if (found != there)
        print_error("# %s in %s\n", what, strbuf_str(&sb));
    assert_int_equal(found, there);
    assert_ptr_equal(strchr(strbuf_str(&sb), '\n'), sb.buf + sb.len - 1);
}

static void expect_json(const struct sample *s, const char *what, bool there)
{
    _cleanup_free_ char *text = NULL;
    size_t len;
    bool found;

    assert_int_equal(jobcomp_json(&s->note, "c1", &text, &len), 0);
    assert_int_equal(strlen(text), len);
    found = strstr(text, what) != NULL;
    if (found != there)
        print_error("# %s in %s\n", what, text);
    assert_int_equal(found, there);
}

static void test_line(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s);
    expect_line(&s, "JobId=7 UserId=alice(1000) GroupId=100(100) Name=sim JobState=COMPLETED ",
                true);
    expect_line(&s, "TimeLimit=Partition_Limit StartTime=2023-11-14T22:13:20 ", true);
    expect_line(&s, "EndTime=2023-11-14T22:14:50 NodeList=n[1-3] NodeCnt=3 ProcCnt=12 ", true);
    expect_line(&s, " Cluster=c1 SubmitTime=2023-11-14T22:12:20 EligibleTime=Unknown ", true);
    expect_line(&s, " DerivedExitCode=0:0 ExitCode=0:0 \n", true);
    expect_line(&s, "ArrayJobId", false);
    SET(&s.job, array_job_id, 5);
    SET(&s.job, array_task_id, 2);
    SET(&s.job, time_limit_min, 30);
    SET(&s.job, exit_status, 9); /* of wait(2): killed */
    SET(&s.job, derived_exit_status, 3 << 8);
    expect_line(&s, "ArrayJobId=5 ArrayTaskId=2 DerivedExitCode=3:0 ExitCode=0:9 \n", true);
    expect_line(&s, "TimeLimit=30 ", true);
    SET(&s.job, time_unlimited, true);
    expect_line(&s, "TimeLimit=UNLIMITED ", true);
}

/* What a user called things makes neither another line nor another job of it. */
static void test_line_of_hostile_words(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s);
    s.job.name = (char *)"a\nJobId=8 UserId=root(0)\x1b[2J";
    s.job.work_dir = (char *)"/tmp/\r\n";
    s.job.wckey = (char *)"k\x7f";
    expect_line(&s, "Name=a JobId=8 UserId=root(0)?[2J JobState=", true);
    expect_line(&s, "WorkDir=/tmp/   ReservationName= ", true);
    expect_line(&s, "WcKey=k? ", true);
    s.job.name = (char *)"\"},{\"x\":\"\\\n";
    expect_json(&s, "\"job_name\":\"\\\"},{\\\"x\\\":\\\"\\\\\\n\"", true);
}

static void test_never_ran(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s);
    s.job.alloc = NULL;
    s.job.has_start_us = false;
    s.job.start_us = 0;
    SET(&s.job, state, JOB_STATE(CANCELLED));
    SET(&s.job, num_tasks, 4);
    expect_line(&s, "JobState=CANCELLED ", true);
    expect_line(&s, "StartTime=2023-11-14T22:14:50 ", true); /* the end */
    expect_line(&s, "NodeList=(null) NodeCnt=0 ProcCnt=0 ", true);
    expect_json(&s, "\"elapsed\":0,", true);
    expect_json(&s, "\"total_nodes\":0,", true);
    SET(&s.job, state_flags, JOB_FLAG(REQUEUED));
    expect_line(&s, "JobState=PENDING ", true);
    expect_json(&s, "\"state\":\"REQUEUED\"", true);
}

static void test_json(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s);
    s.job.alloc_tres = (char *)"cpu=12,mem=4G,node=3,billing=12,gres/gpu=2,cpu";
    expect_json(&s, "{\"jobid\":7,", true);
    expect_json(&s, "\"@start\":\"2023-11-14T22:13:20\",\"@end\":\"2023-11-14T22:14:50\"", true);
    expect_json(&s, "\"elapsed\":90,", true);
    expect_json(&s, "\"cpu_hours\":0.300000", true);
    expect_json(&s, "\"@queue_wait\":60", true);
    expect_json(&s, "\"tres_alloc_raw\":\"1=12,2=4096,4=3,5=12\"", true);
    expect_json(&s, "\"state\":\"COMPLETED\"", true);
    expect_json(&s, "\"script\"", false);
    s.note.has_script = 1;
    s.note.script.data = (uint8_t *)(char *)"#!/bin/sh\nX";
    s.note.script.len = 10;
    expect_json(&s, "\"script\":\"#!/bin/sh\\n\"", true);
    SET(&s.note, began, true);
    expect_json(&s, "\"state\":null", true);
    expect_json(&s, "\"@end\"", false);
    expect_json(&s, "\"exit_code\"", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_line_of_hostile_words),
        cmocka_unit_test(test_never_ran),
        cmocka_unit_test(test_json),
    };

    (void)setenv("TZ", "UTC", 1);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
