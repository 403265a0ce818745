/* Flags of jobs in accounting: words and masks. */
#include "cli/format/acctflags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    Pst__JobStartedOn on;
    int64_t start_us;
    const char *text, *json;
} jobs[] = {
    { PST__JOB_STARTED_ON__STARTED_ON_NOTHING, 0, "StartReceived", "[\"START_RECEIVED\"]" },
    { PST__JOB_STARTED_ON__STARTED_ON_NOTHING, 1, "StartReceived", "[\"START_RECEIVED\"]" },
    { PST__JOB_STARTED_ON__STARTED_ON_SUBMIT, 1, "SchedSubmit,StartReceived",
      "[\"STARTED_ON_SUBMIT\",\"START_RECEIVED\"]" },
    { PST__JOB_STARTED_ON__STARTED_ON_SCHEDULE, 1, "SchedMain,StartReceived",
      "[\"STARTED_ON_SCHEDULE\",\"START_RECEIVED\"]" },
    { PST__JOB_STARTED_ON__STARTED_ON_BACKFILL, 1, "SchedBackfill,StartReceived",
      "[\"STARTED_ON_BACKFILL\",\"START_RECEIVED\"]" },
};

/* What the column shows is what --flags finds the job by. */
static void test_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        Pst__JobRecord j = PST__JOB_RECORD__INIT;
        struct strbuf sb = STRBUF_INIT;
        const char *bad = NULL;
        uint32_t mask = UINT32_MAX;
        int len = 0;

        j.has_started_on = true;
        j.started_on = jobs[i].on;
        j.start_us = jobs[i].start_us;
        acctflags_put(&sb, &j);
        assert_string_equal(strbuf_str(&sb), jobs[i].text);
        assert_true(acctflags_parse(strbuf_str(&sb), &mask, &bad, &len));
        assert_int_equal(mask, acctflags_of(&j));
        strbuf_done(&sb);
    }
}

static void test_words(void **state)
{
    uint32_t one = 0, both = 0;
    const char *bad = NULL;
    int len = 0;

    (void)state;
    assert_true(acctflags_parse("schedmain", &one, &bad, &len));
    assert_true(acctflags_parse("SchedMain,,StartReceived,", &both, &bad, &len));
    assert_true(one && (both & one) == one && both != one);
    assert_false(acctflags_parse("SchedMain,foo,x", &one, &bad, &len));
    assert_int_equal(len, 3);
    assert_memory_equal(bad, "foo", 3);
    assert_false(acctflags_parse("Sched", &one, &bad, &len));
}

/* JSON tells the same. */
static void test_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        Pst__JobRecord j = PST__JOB_RECORD__INIT;
        struct strbuf sb = STRBUF_INIT;
        struct json js;

        j.has_started_on = true;
        j.started_on = jobs[i].on;
        j.start_us = jobs[i].start_us;
        json_begin(&js, &sb, JSON_DENSE);
        acctflags_json(&js, &j);
        json_end(&js);
        assert_non_null(strstr(strbuf_str(&sb), jobs[i].json));
        strbuf_done(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_json),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
