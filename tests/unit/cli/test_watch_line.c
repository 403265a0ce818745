/* test_watch_line.c - one line for one change: cursor, what happened, and which fields are shown */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "cli/query/watch_line.h"
#include "model/tx.h"

#include "job.pb-c.h"
#include "node.pb-c.h"

#define TIME_US 1900000000000000 /* 2030-03-17T17:46:40 UTC */

static void expect_line(const struct watch_line *l, bool json, const char *expected)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    watch_line_add(&sb, l, json);
    assert_false(sb.failed);
    assert_string_equal(strbuf_str(&sb), expected);
}

static Pst__WatchChange change_of_job(void)
{
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;

    SET(&c, lsn, 57);
    SET(&c, id, 12);
    SET(&c, kind, PST__EVENT_KIND__EV_JOB_START);
    SET(&c, entity, PST__WATCH_ENTITY__WATCH_JOB);
    c.user_name = (char *)"ann";
    return c;
}

static void test_change(void **state)
{
    Pst__WatchChange c = change_of_job();
    Pst__JobRecord before = PST__JOB_RECORD__INIT, after = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    struct watch_line l = { .entity = PST__WATCH_ENTITY__WATCH_JOB,
                            .change = &c,
                            .lsn = 57,
                            .time_us = TIME_US,
                            .before = &before.base,
                            .after = &after.base };

    (void)state;
    SET(&before, state, PST__JOB_STATE__JOB_PENDING);
    SET(&after, state, PST__JOB_STATE__JOB_RUNNING);
    alloc.nodes = (char *)"node1";
    after.alloc = &alloc;
    /* What is new has nothing before the arrow. */
    expect_line(&l, false,
                "2030-03-17T17:46:40 57.0 job-start job 12 user=ann state=PENDING->RUNNING "
                "nodes=->node1\n");
    l.index = UINT32_MAX; /* the whole of the transaction */
    SET(&c, array_job_id, 10);
    SET(&c, array_task_id, 3);
    expect_line(&l, false,
                "2030-03-17T17:46:40 57 job-start job 10_3 user=ann state=PENDING->RUNNING "
                "nodes=->node1\n");
    c.created = true; /* there is no before: no arrows */
    l.before = NULL;
    expect_line(&l, false,
                "2030-03-17T17:46:40 57 job-start job 10_3 user=ann state=RUNNING nodes=node1\n");
    c.gone = true;
    l.after = NULL;
    expect_line(&l, false, "2030-03-17T17:46:40 57 purged job 10_3 user=ann\n");
}

static void test_texts(void **state)
{
    Pst__WatchChange c = change_of_job();
    Pst__JobRecord after = PST__JOB_RECORD__INIT;
    struct watch_line l = { .entity = PST__WATCH_ENTITY__WATCH_JOB,
                            .change = &c,
                            .lsn = 57,
                            .time_us = TIME_US,
                            .after = &after.base };

    (void)state;
    /* A line stays one line, and a value one word or in quotes. */
    after.name = (char *)"a \"b\" \\c\nd\x01"
                         "e";
    expect_line(&l, false,
                "2030-03-17T17:46:40 57.0 job-start job 12 user=ann "
                "name=->\"a \\\"b\\\" \\\\c\\nd e\"\n");
    after.name = (char *)"";
    expect_line(&l, false, "2030-03-17T17:46:40 57.0 job-start job 12 user=ann name=->\"\"\n");
}

static void test_node(void **state)
{
    Pst__NodeRecord before = PST__NODE_RECORD__INIT, after = PST__NODE_RECORD__INIT;
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;
    struct watch_line l = { .entity = PST__WATCH_ENTITY__WATCH_NODE,
                            .change = &c,
                            .lsn = 9,
                            .index = 2,
                            .time_us = TIME_US,
                            .name = "n1",
                            .before = &before.base,
                            .after = &after.base };

    (void)state;
    SET(&c, kind, PST__EVENT_KIND__EV_NODE_STATE);
    SET(&before, state_flags, 0);
    SET(&after, state_flags, 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN);
    after.reason = (char *)"bad disk";
    expect_line(&l, false,
                "2030-03-17T17:46:40 9.2 node-state node n1 state_flags=0->DRAIN "
                "reason=->\"bad disk\"\n");
    l.snapshot = true; /* a record as it is: the name alone tells which */
    l.change = NULL;
    l.before = NULL;
    l.index = UINT32_MAX;
    expect_line(&l, false,
                "2030-03-17T17:46:40 9 snapshot node n1 state_flags=DRAIN reason=\"bad disk\"\n");
}

static void test_json(void **state)
{
    Pst__WatchChange c = change_of_job();
    Pst__JobRecord before = PST__JOB_RECORD__INIT, after = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    struct watch_line l = { .entity = PST__WATCH_ENTITY__WATCH_JOB,
                            .change = &c,
                            .lsn = 57,
                            .time_us = TIME_US,
                            .before = &before.base,
                            .after = &after.base };
    static const char raw[] = "raw";

    (void)state;
    /* The packed records of the change are not shown again beside the unpacked ones. */
    c.has_before = c.has_after = true;
    c.before = c.after = (ProtobufCBinaryData){ .data = (uint8_t *)raw, .len = 3 };
    SET(&before, state, PST__JOB_STATE__JOB_PENDING);
    SET(&after, state, PST__JOB_STATE__JOB_RUNNING);
    SET(&after, submit_us, 5); /* watchers are not told of it */
    alloc.nodes = (char *)"node1";
    SET(&alloc, total_cpus, 4);
    alloc.n_groups = 0;
    after.alloc = &alloc;
    expect_line(&l, true,
                "{\"cursor\":\"57.0\",\"event\":\"job-start\",\"lsn\":57,\"entity\":\"WATCH_JOB\","
                "\"kind\":\"EV_JOB_START\",\"id\":12,\"user_name\":\"ann\","
                "\"before\":{\"state\":\"JOB_PENDING\"},"
                "\"after\":{\"state\":\"JOB_RUNNING\","
                "\"alloc\":{\"nodes\":\"node1\",\"total_cpus\":4}}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_change),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_json),
    };

    (void)setenv("TZ", "UTC", 1);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
