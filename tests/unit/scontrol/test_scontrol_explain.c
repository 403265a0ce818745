/* test_scontrol_explain.c - scontrol explain: which jobs the ids name, what is printed of them */
#include "cli/query/explainprint.h"

#include "scontrol_util.h"
#include "wire/errors.h"

#define JOBS(...) PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, __VA_ARGS__)
#define EXPLAINED(json) PEER_ANSWER(&ctld, OP_QUERY_EXPLAIN, explain_reply, (json))

static void test_sentences(void **state)
{
    (void)state;
    JOBS("{'job_id':7}");
    EXPLAINED("{'sentences':['Job 7 waits.','For nodes.']}");
    expect_run(scontrol_explain, "7", "Job 7 waits.\n  For nodes.\n", "", 0);
    EXPECT_REQUEST(OP_QUERY_JOBS, query_request, "'job_ids':[7]");
    EXPECT_REQUEST(OP_QUERY_EXPLAIN, explain_request, "'job_id':7");
}

/* An empty line parts jobs. */
static void test_several(void **state)
{
    (void)state;
    JOBS("{'job_id':7}");
    EXPLAINED("{'sentences':['a']}");
    JOBS("{'job_id':8}");
    EXPLAINED("{'sentences':['b']}");
    expect_run(scontrol_explain, "jobs 7 8", "a\n\nb\n", "", 0);
}

/* Tasks of an array have numbers of their own; those that the list names are explained. */
static void test_tasks(void **state)
{
    (void)state;
    JOBS("{'job_id':5,'array_job_id':5,'array_tasks':'4-9'}",
         "{'job_id':6,'array_job_id':5,'array_task_id':2}",
         "{'job_id':7,'array_job_id':5,'array_task_id':3}");
    EXPLAINED("{'sentences':['five']}");
    EXPLAINED("{'sentences':['seven']}");
    expect_run(scontrol_explain, "job 5_[3,9]", "five\n\nseven\n", "", 0);
    EXPECT_REQUEST(OP_QUERY_JOBS, query_request, "'job_ids':[5]");
    EXPECT_REQUEST(OP_QUERY_EXPLAIN, explain_request, "'job_id':5");
    EXPECT_REQUEST(OP_QUERY_EXPLAIN, explain_request, "'job_id':7");
    JOBS("{'job_id':5,'array_job_id':5,'array_tasks':'4-9'}");
    expect_run(scontrol_explain, "5_3", "", "Invalid job id specified for job 5_3\n", 1);
}

static void test_refusals(void **state)
{
    (void)state;
    expect_run(scontrol_explain, "", "", "too few arguments for keyword:explain\n", 1);
    expect_run(scontrol_explain, "job", "", "too few arguments for keyword:explain\n", 1);
    run_command(scontrol_explain, "abc");
    assert_int_equal(scontrol.status, 1);
    assert_true(said.err[0]);
    assert_true(peer_is_quiet(&ctld));
    JOBS(NULL);
    expect_run(scontrol_explain, "99", "", "Invalid job id specified for job 99\n", 1);
    peer_refuse(&ctld, OP_QUERY_JOBS, ESLURM_ACCESS_DENIED, NULL);
    expect_run(scontrol_explain, "99", "", "slurm_load_jobs error: Access/permission denied\n", 1);
    JOBS("{'job_id':7}");
    peer_refuse(&ctld, OP_QUERY_EXPLAIN, ESLURM_ACCESS_DENIED, NULL);
    expect_run(scontrol_explain, "7", "", "Access/permission denied for job 7\n", 1);
}

/* JSON: an object a line, control characters escaped by it; sentences have none. */
static void test_json(void **state)
{
    int r;

    (void)state;
    EXPLAINED("{'job_id':7,'sentences':['a\\u001bb']}");
    output_begin(&said, NULL);
    r = explain_print(scontrol.client, 7, true, true);
    output_end(&said);
    assert_int_equal(r, 0);
    assert_int_equal(said.out[0], '{');
    assert_non_null(strstr(said.out, "\"sentences\":"));
    assert_null(strchr(said.out, 27));
    assert_string_equal(strchr(said.out, '\n'), "\n");
    EXPLAINED("{'job_id':7,'sentences':['a\\u001bb']}");
    output_begin(&said, NULL);
    r = explain_print(scontrol.client, 7, false, false);
    output_end(&said);
    assert_int_equal(r, 0);
    assert_null(strchr(said.out, 27));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_sentences), SCONTROL_TEST(test_several), SCONTROL_TEST(test_tasks),
        SCONTROL_TEST(test_refusals),  SCONTROL_TEST(test_json),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
