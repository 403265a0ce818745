/* test_schedlog.c - lines of SlurmSchedLogFile */
#include "model_util.h"

#include "ctld/notify/schedlog.h"

#define KIND(x) PST__EVENT_KIND__EV_##x

static void test_lines(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    char line[SCHEDLOG_LINE_MAX];

    (void)state;
    SET(&r, job_id, 12);
    assert_true(schedlog_line(&r, KIND(JOB_SUBMIT), line));
    assert_string_equal(line, "JobId=12 waits");
    assert_true(schedlog_line(&r, KIND(JOB_START), line)); /* of an external job */
    assert_string_equal(line, "JobId=12 starts on no node: partition (null), -, by main");
    alloc.nodes = (char *)"node[1-2]";
    r.alloc = &alloc;
    r.partition = (char *)"main";
    r.alloc_tres = (char *)"cpu=4,node=2";
    SET(&r, started_on, PST__JOB_STARTED_ON__STARTED_ON_BACKFILL);
    assert_true(schedlog_line(&r, KIND(JOB_START), line));
    assert_string_equal(line,
                        "JobId=12 starts on node[1-2]: partition main, cpu=4,node=2, by backfill");
    assert_true(schedlog_line(&r, KIND(JOB_PREEMPT), line));
    assert_string_equal(line, "JobId=12 is preempted");
    assert_true(schedlog_line(&r, KIND(JOB_TURN_OVER), line));
    assert_string_equal(line, "JobId=12 is suspended");
    assert_true(schedlog_line(&r, KIND(JOB_TURN), line));
    assert_string_equal(line, "JobId=12 goes on");
    SET(&r, state, JOB_STATE(TIMEOUT));
    assert_true(schedlog_line(&r, KIND(JOB_END), line));
    assert_string_equal(line, "JobId=12 ends: TIMEOUT");
    assert_false(schedlog_line(&r, KIND(JOB_UPDATE), line));
    assert_false(schedlog_line(&r, KIND(UNSPECIFIED), line));
}

/* A name may be longer than a line. */
static void test_long(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    char line[SCHEDLOG_LINE_MAX], name[SCHEDLOG_LINE_MAX * 2];

    (void)state;
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    r.partition = name;
    assert_true(schedlog_line(&r, KIND(JOB_START), line));
    assert_int_equal(strlen(line), SCHEDLOG_LINE_MAX - 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
