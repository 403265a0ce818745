/* test_scontrol_jobs.c - commands for jobs: what is asked of the controller, and told of it */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "scontrol_util.h"
#include "wire/errors.h"

#define ACTION(json) PEER_ANSWER(&ctld, OP_JOB_ACTION, job_action_reply, (json))
#define ACTED(has) EXPECT_REQUEST(OP_JOB_ACTION, job_action_request, (has))
#define UNKNOWN "Invalid job id specified"

static void test_verbs(void **state)
{
    static const struct {
        command_fn *command;
        const char *word, *verb;
    } rows[] = { { scontrol_hold, "hold", "'verb':'VERB_HOLD'" },
                 { scontrol_uhold, "uhold", "'verb':'VERB_UHOLD'" },
                 { scontrol_release, "release", "'verb':'VERB_RELEASE'" },
                 { scontrol_suspend, "suspend", "'verb':'VERB_SUSPEND'" },
                 { scontrol_resume, "resume", "'verb':'VERB_RESUME'" },
                 { scontrol_top, "top", "'verb':'VERB_TOP'" },
                 { scontrol_requeue, "requeue", "'verb':'VERB_REQUEUE'" },
                 { scontrol_requeuehold, "requeuehold", "'verb':'VERB_REQUEUE_HOLD'" } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char few[64];

        (void)snprintf(few, sizeof(few), "too few arguments for keyword:%s\n", rows[i].word);
        expect_run(rows[i].command, "", "", few, 1);
        ACTION("{'results':[{'id':'7','job_id':7}]}");
        expect_run(rows[i].command, "7", "", "", 0);
        ACTED(rows[i].verb);
    }
    assert_true(peer_is_quiet(&ctld));
}

/* A comma keeps jobs in one request, a blank parts requests, as recorded. */
static void test_lists(void **state)
{
    (void)state;
    ACTION("{'results':[{'id':'99','code':2017}]}");
    ACTION("{'results':[{'id':'98','code':2017}]}");
    expect_run(scontrol_hold, "99 98", "",
               UNKNOWN " for job 99\nslurm_suspend error:" UNKNOWN "\n" UNKNOWN
                       " for job 98\nslurm_suspend error:" UNKNOWN "\n",
               1);
    ACTED("'ids':['99']");
    ACTED("'ids':['98']");
    ACTION("{'results':[{'id':'99','code':2017},{'id':'98','code':2017}]}");
    expect_run(scontrol_requeue, "99,98", "", UNKNOWN " for job 99\n" UNKNOWN " for job 98\n", 1);
    ACTED("'ids':['99','98']");
    ACTION("{'results':[{'id':'99','code':2017},{'id':'5','job_id':5}]}");
    expect_run(scontrol_hold, "99,5", "", UNKNOWN " for job 99\nslurm_suspend error\n", 1);
}

/* Words that are no job go to nobody. */
static void test_no_jobs(void **state)
{
    (void)state;
    expect_run(scontrol_hold, "abc", "", UNKNOWN " for job abc\nslurm_suspend error:" UNKNOWN "\n",
               1);
    expect_run(scontrol_requeue, "abc", "", UNKNOWN " for job abc\n", 1);
    expect_run(scontrol_requeue, "name=nosuch", "", UNKNOWN " for job name=nosuch\n", 1);
    expect_run(scontrol_requeue, "7.0", "", UNKNOWN " for job 7.0\n", 1); /* a step */
    expect_run(scontrol_top, "7_[1-2]", "", UNKNOWN " for job 7_[1-2]\n", 1);
    scontrol.quiet = true;
    expect_run(scontrol_requeue, "abc", "", "", 1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_names(void **state)
{
    (void)state;
    ACTION("{}");
    expect_run(scontrol_release, "jobname=nosuch", "", "", 0);
    ACTED("'names':['nosuch']");
    ACTION("{}");
    expect_run(scontrol_hold, "name=a,b", "", "", 0);
    ACTED("'names':['a','b']");
}

/* Programs know another message where a job to suspend is unknown. */
static void test_suspend(void **state)
{
    (void)state;
    ACTION("{'results':[{'id':'99','code':2017}]}");
    expect_run(scontrol_suspend, "99", "", "Unexpected message received for job 99\n", 1);
    ACTION("{'results':[{'id':'99','code':2017,'job_id':7}]}");
    run_command(scontrol_resume, "99");
    assert_null(strstr(said.err, "Unexpected"));
    ACTION("{'results':[{'id':'7','code':2002,'job_id':7}]}");
    expect_run(scontrol_top, "7", "", "Access/permission denied for job 7\n", 1);
}

/* One error is about the whole list that comes to the top. */
static void test_top(void **state)
{
    char want[128];

    (void)state;
    ACTION("{'results':[{'id':'7'},{'id':'8','code':2017},{'id':'9','code':1}]}");
    (void)snprintf(want, sizeof(want), "%s for job 7,8,9\n", slurm_err_text(2017));
    expect_run(scontrol_top, "7,8,9", "", want, 1);
}

static void test_requeue_words(void **state)
{
    (void)state;
    ACTION("{}");
    expect_run(scontrol_requeue, "Incomplete 7", "", "", 0);
    ACTED("'incomplete_only':true");
    ACTION("{}");
    expect_run(scontrol_requeuehold, "state=SE incomplete 7", "", "", 0);
    ACTED("'special_exit':true");
    ACTION("{}");
    expect_run(scontrol_requeuehold, "state=specialexit 7", "", "", 0);
    ACTED("'special_exit':true");
    ACTION("{}");
    expect_run(scontrol_requeue, "7", "", "", 0);
    ACTED("!'incomplete_only'");
    expect_run(scontrol_requeuehold, "state=foo", "", UNKNOWN " for job state=foo\n", 1);
}

static void test_notify(void **state)
{
    (void)state;
    expect_run(scontrol_notify, "99", "", "too few arguments for keyword:notify\n", 1);
    ACTION("{'results':[{'id':'99','code':2017}]}");
    expect_run(scontrol_notify, "99 hi there", "", "job notify failure: " UNKNOWN "\n", 1);
    ACTED("'message':'hi there'");
    expect_run(scontrol_notify, "abc hi", "", "Invalid job_id abcjob notify failure: No error\n",
               1);
    ACTION("{'results':[{'id':'99.0'}]}");
    expect_run(scontrol_notify, "99.0 hi", "", "", 0);
    ACTED("'ids':['99.0']");
}

static void status_frame(const char *json, uint32_t flags)
{
    ProtobufCMessage *msg = from_json(&pst__job_status__descriptor, json);
    uint8_t *buf = NULL;
    size_t len = 0;

    assert_int_equal(frame_pack(OP_JOB_WAIT, FRAME_REPLY | flags, 1, 0, msg, &buf, &len), 0);
    peer_put(&ctld, buf, len);
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* Statuses come until the job has started; what comes then is left to no other command. */
static void test_wait_started(void **state)
{
    (void)state;
    status_frame("{'job_id':7,'state':'JOB_RUNNING'}", FRAME_MORE);
    status_frame("{'job_id':7,'state':'JOB_RUNNING','launched':true}", FRAME_MORE);
    expect_run(scontrol_wait_job, "7", "", "scontrol: Nodes are ready for job 7\n", 0);
    EXPECT_REQUEST(OP_JOB_WAIT, job_wait_request, "'until_started':true");
    assert_null(scontrol.client);
}

static void test_wait_ended(void **state)
{
    (void)state;
    status_frame("{'job_id':7,'state':'JOB_COMPLETED','launched':true}", 0);
    expect_run(scontrol_wait_job, "7", "", "scontrol: Job 7 no longer running\n", 1);
}

static void test_wait_refused(void **state)
{
    (void)state;
    peer_refuse(&ctld, OP_JOB_WAIT, ESLURM_INVALID_JOB_ID, NULL);
    expect_run(scontrol_wait_job, "99", "", "scontrol: Problem running job 99\n", 1);
}

static void test_wait_words(void **state)
{
    (void)state;
    expect_run(scontrol_wait_job, "", "", "too few arguments for keyword:wait_job\n", 1);
    expect_run(scontrol_wait_job, "abc", "", "Invalid job_id abc\n", 1);
    assert_true(peer_is_quiet(&ctld));
}

static void test_write_script(void **state)
{
    char path[] = "/tmp/test_write.XXXXXX", line[128], want[128], text[32] = "";
    Pst__ScriptReply reply = PST__SCRIPT_REPLY__INIT;
    struct stat st;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "what was there before, and is longer", 36), 36);
    reply.has_script = true;
    reply.script = (ProtobufCBinaryData){ 10, (uint8_t *)(char[]){ "#!/bin/sh\n" } };
    peer_answer(&ctld, OP_QUERY_SCRIPT, &reply.base);
    (void)snprintf(line, sizeof(line), "batch 7 %s", path);
    (void)snprintf(want, sizeof(want), "batch script for job 7 written to %s\n", path);
    expect_run(scontrol_write, line, want, "", 0);
    assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), 10);
    assert_string_equal(text, "#!/bin/sh\n");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    (void)close(fd);
    (void)unlink(path);
    EXPECT_REQUEST(OP_QUERY_SCRIPT, job_id_request, "'job_id':7");
    peer_answer(&ctld, OP_QUERY_SCRIPT, &reply.base);
    expect_run(scontrol_write, "batch_script 7 -", "#!/bin/sh\n", "", 0);
}

/* As recorded, with their exit codes. */
static void test_write_refusals(void **state)
{
    (void)state;
    expect_run(scontrol_write, "", "", "too few arguments for keyword:write\n", 1);
    expect_run(scontrol_write, "foo", "", "invalid write argument:foo\n", 1);
    expect_run(scontrol_write, "batch_script", "", "", 0);
    expect_run(scontrol_write, "batch_script abc", "",
               "scontrol: fatal: Bad job/step specified: abc: JobID can not be zero\n", 1);
    assert_true(peer_is_quiet(&ctld));
    peer_refuse(&ctld, OP_QUERY_SCRIPT, ESLURM_INVALID_JOB_ID, NULL);
    expect_run(scontrol_write, "batch_script 99", "", "job script retrieval failed: " UNKNOWN "\n",
               0);
    PEER_ANSWER(&ctld, OP_QUERY_SCRIPT, script_reply, "{}");
    run_command(scontrol_write, "batch_script 99");
    assert_int_equal(strncmp(said.err, "job script retrieval failed: ", 29), 0);
}

static void test_completing(void **state)
{
    (void)state;
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, "{'job_id':5,'state':'JOB_RUNNING'}",
              "{'job_id':7,'state':'JOB_COMPLETED','state_flags':1,'alloc':{'nodes':'n[1-2]'}}");
    run_command(scontrol_completing, "");
    assert_int_equal(scontrol.status, 0);
    assert_string_equal(said.err, "");
    assert_string_equal(said.out, "JobId=7 EndTime=Unknown CompletingTime=00:00:00 "
                                  "Nodes(COMPLETING)=n[1-2]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_verbs),         SCONTROL_TEST(test_lists),
        SCONTROL_TEST(test_no_jobs),       SCONTROL_TEST(test_names),
        SCONTROL_TEST(test_suspend),       SCONTROL_TEST(test_top),
        SCONTROL_TEST(test_requeue_words), SCONTROL_TEST(test_notify),
        SCONTROL_TEST(test_wait_started),  SCONTROL_TEST(test_wait_ended),
        SCONTROL_TEST(test_wait_refused),  SCONTROL_TEST(test_wait_words),
        SCONTROL_TEST(test_write_script),  SCONTROL_TEST(test_write_refusals),
        SCONTROL_TEST(test_completing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
