/* test_debuglog.c - lines of DebugFlags about what changed */
#include "model_util.h"

#include "ctld/notify/debuglog.h"

#define KIND(x) PST__EVENT_KIND__EV_##x

static char line[DEBUGLOG_LINE_MAX];

static Pst__JobRecord running_job(Pst__Alloc *alloc)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    static uint32_t ids[] = { 3, 4 };

    *alloc = (Pst__Alloc)PST__ALLOC__INIT;
    alloc->nodes = (char *)"node[1-2]";
    alloc->n_node_ids = 2;
    alloc->node_ids = ids;
    SET(alloc, total_cpus, 4);
    SET(&r, job_id, 12);
    SET(&r, state, JOB_STATE(RUNNING));
    r.alloc = alloc;
    r.alloc_tres = (char *)"cpu=4,mem=4G,node=2";
    r.licenses = (char *)"matlab:2|ansys:1";
    r.licenses_alloc = (char *)"matlab:2";
    return r;
}

static void test_job(void **state)
{
    Pst__Alloc alloc;
    Pst__JobRecord r = running_job(&alloc);

    (void)state;
    assert_true(debuglog_job(LOG_SUBJECT_TRACE_JOBS, &r, KIND(JOB_START), line));
    assert_string_equal(line, "JobId=12 job-start: RUNNING, reason None");
    assert_true(debuglog_job(LOG_SUBJECT_SELECT_TYPE, &r, KIND(JOB_START), line));
    assert_string_equal(line, "JobId=12 gets node[1-2]: cpu=4,mem=4G,node=2");
    assert_true(debuglog_job(LOG_SUBJECT_LICENSE, &r, KIND(JOB_START), line));
    assert_string_equal(line, "JobId=12 takes matlab:2");
    SET(&r, state, JOB_STATE(COMPLETED));
    assert_true(debuglog_job(LOG_SUBJECT_LICENSE, &r, KIND(JOB_END), line));
    assert_string_equal(line, "JobId=12 gives back matlab:2");
    assert_true(debuglog_job(LOG_SUBJECT_GANG, &r, KIND(JOB_TURN), line));
    assert_string_equal(line, "JobId=12 runs: its turn begins");
    SET(&r, het_job_id, 11);
    assert_true(debuglog_job(LOG_SUBJECT_HETJOB, &r, KIND(JOB_END), line));
    assert_string_equal(line, "JobId=11+1(12) job-end: COMPLETED");
}

/* A flag says why a state is not the whole truth. */
static void test_flags(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    SET(&r, job_id, 5);
    SET(&r, state, JOB_STATE(PENDING));
    SET(&r, reason, PST__JOB_REASON__REASON_JOB_HELD_USER);
    assert_true(debuglog_job(LOG_SUBJECT_TRACE_JOBS, &r, KIND(JOB_HOLD), line));
    assert_string_equal(line, "JobId=5 job-hold: PENDING, reason JobHeldUser");
    SET(&r, state, JOB_STATE(FAILED));
    SET(&r, state_flags, JOB_FLAG(COMPLETING));
    SET(&r, reason, PST__JOB_REASON__REASON_NONE);
    assert_true(debuglog_job(LOG_SUBJECT_TRACE_JOBS, &r, KIND(JOB_END), line));
    assert_string_equal(line, "JobId=5 job-end: FAILED+COMPLETING, reason None");
}

static void test_nothing_to_say(void **state)
{
    Pst__Alloc alloc;
    Pst__JobRecord r = running_job(&alloc);
    Pst__NodeRecord n = PST__NODE_RECORD__INIT;

    (void)state;
    n.name = (char *)"node1";
    assert_false(debuglog_job(LOG_SUBJECT_SELECT_TYPE, &r, KIND(JOB_UPDATE), line));
    assert_false(debuglog_job(LOG_SUBJECT_LICENSE, &r, KIND(JOB_UPDATE), line));
    assert_false(debuglog_job(LOG_SUBJECT_HETJOB, &r, KIND(JOB_START), line));
    assert_false(debuglog_job(LOG_SUBJECT_GANG, &r, KIND(JOB_SUSPEND), line));
    assert_false(debuglog_job(LOG_SUBJECT_STEPS, &r, KIND(JOB_START), line));
    assert_false(debuglog_job(LOG_SUBJECT_TRACE_JOBS, &r, KIND(UNSPECIFIED), line));
    r.alloc = NULL; /* it never started */
    assert_false(debuglog_job(LOG_SUBJECT_LICENSE, &r, KIND(JOB_END), line));
    r.alloc = &alloc;
    r.licenses = r.licenses_alloc = NULL;
    assert_false(debuglog_job(LOG_SUBJECT_LICENSE, &r, KIND(JOB_START), line));
    assert_false(debuglog_node(LOG_SUBJECT_POWER, &n, KIND(NODE_UPDATE), line));
    assert_false(debuglog_node(LOG_SUBJECT_GRES, &n, KIND(NODE_STATE), line));
}

static void test_step(void **state)
{
    Pst__StepRecord s = PST__STEP_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;

    (void)state;
    SET(&s, step_id, 0);
    SET(&s, state, PST__STEP_STATE__STEP_RUNNING);
    alloc.nodes = (char *)"node1";
    s.alloc = &alloc;
    assert_true(debuglog_step(12, &s, KIND(STEP_START), line));
    assert_string_equal(line, "StepId=12.0 step-start: RUNNING on node1");
    /* the first of its nodes is through, or a controller begins */
    assert_false(debuglog_step(12, &s, KIND(UNSPECIFIED), line));
    SET(&s, step_id, 4294967291u);
    SET(&s, state, PST__STEP_STATE__STEP_FAILED);
    SET(&s, exit_status, 256);
    assert_true(debuglog_step(12, &s, KIND(STEP_END), line));
    assert_string_equal(line, "StepId=12.batch step-end: FAILED on node1, exit status 256");
}

static void test_node(void **state)
{
    Pst__NodeRecord n = PST__NODE_RECORD__INIT;

    (void)state;
    n.name = (char *)"node1";
    n.features = (char *)"a,b";
    n.active_features = (char *)"b";
    n.gres = (char *)"gpu:2";
    assert_true(debuglog_node(LOG_SUBJECT_NODE_FEATURES, &n, KIND(NODE_REGISTER), line));
    assert_string_equal(line, "node node1: b are active of a,b");
    assert_true(debuglog_node(LOG_SUBJECT_GRES, &n, KIND(NODE_REGISTER), line));
    assert_string_equal(line, "node node1 registered with gpu:2");
    assert_true(debuglog_node(LOG_SUBJECT_POWER, &n, KIND(NODE_POWER), line));
    assert_memory_equal(line, "node node1: ", 12);
}

static void test_reservation(void **state)
{
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;

    (void)state;
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    tzset();
    r.name = (char *)"weekly";
    SET(&r, start_us, INT64_C(1767323045) * 1000000);
    SET(&r, end_us, INT64_C(1767330245) * 1000000);
    r.nodes = (char *)"node[1-4]";
    debuglog_resv(&r, line);
    assert_string_equal(line,
                        "weekly is from 2026-01-02T03:04:05 to 2026-01-02T05:04:05 on node[1-4]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_reservation),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
