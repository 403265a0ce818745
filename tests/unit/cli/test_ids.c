/* test_ids.c - names of jobs and steps */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base/ids.h"

static const struct {
    const char *text;
    uint32_t job;
    enum ids_array array;
    uint32_t task;
    const char *set;
    bool has_step;
    uint32_t step;
    bool has_het;
    uint32_t het;
} good[] = {
    { .text = "123", .job = 123 },
    { .text = "4294967295", .job = UINT32_MAX },
    { .text = "123_4", .job = 123, .array = IDS_ONE_TASK, .task = 4 },
    { .text = "123_[1-3,7]", .job = 123, .array = IDS_TASK_SET, .set = "1-3,7" },
    { .text = "123_[0-9:3]", .job = 123, .array = IDS_TASK_SET, .set = "0-9:3" },
    { .text = "123_*", .job = 123, .array = IDS_ALL_TASKS },
    { .text = "123+1", .job = 123, .has_het = true, .het = 1 },
    { .text = "123.0", .job = 123, .has_step = true, .step = 0 },
    { .text = "123_4.7",
      .job = 123,
      .array = IDS_ONE_TASK,
      .task = 4,
      .has_step = true,
      .step = 7 },
    { .text = "123.batch", .job = 123, .has_step = true, .step = STEP_ID_BATCH },
    { .text = "123.extern", .job = 123, .has_step = true, .step = STEP_ID_EXTERN },
    { .text = "123.interactive", .job = 123, .has_step = true, .step = STEP_ID_INTERACTIVE },
    { .text = "123+2.1", .job = 123, .has_het = true, .het = 2, .has_step = true, .step = 1 },
};

static const char *const bad[] = {
    "",      "0",       "abc",    "12a",    "4294967296",
    "-1",    " 1",      "1_",     "1_a",    "1_[",
    "1_[]",  "1_[3-1]", "1_[1,]", "1_[1]x", "1_[1-3:0]",
    "1+",    "1.",      "1.x",    "1.-5",   "1.4294967291",
    "1_2_3", "1..0",    "1.0.0",  "sABC",   "s0EXM7W59D6F0!",
};

static void test_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct err err = { .text = "" };
        struct ids ids;

        assert_int_equal(ids_parse(good[i].text, &ids, &err), 0);
        assert_int_equal(ids.job_id, good[i].job);
        assert_int_equal(ids.array, good[i].array);
        assert_int_equal(ids.task_id, good[i].task);
        assert_int_equal(ids.has_step, good[i].has_step);
        assert_int_equal(ids.step_id, good[i].step);
        assert_int_equal(ids.has_het, good[i].has_het);
        assert_int_equal(ids.het_offset, good[i].het);
        if (good[i].set)
            assert_string_equal(ids.task_set, good[i].set);
        assert_string_equal(ids.sluid, "");
        ids_done(&ids);
    }
}

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };
        struct ids ids;
        char want[128];

        assert_int_equal(ids_parse(bad[i], &ids, &err), -EINVAL);
        (void)snprintf(want, sizeof(want), "Invalid job id: %s", bad[i]);
        assert_string_equal(err.text, want);
    }
}

static void test_sluid(void **state)
{
    struct ids ids;

    (void)state;
    assert_int_equal(ids_parse("s0EXM7W59D6F00", &ids, NULL), 0);
    assert_string_equal(ids.sluid, "s0EXM7W59D6F00");
    assert_int_equal(ids.job_id, 0);
    assert_false(ids.has_step);
    assert_int_equal(ids_parse("s0exm7w59d6f00.7", &ids, NULL), 0);
    assert_string_equal(ids.sluid, "s0EXM7W59D6F00");
    assert_true(ids.has_step);
    assert_int_equal(ids.step_id, 7);
    assert_int_equal(ids_parse("s0EXM7W59D6F00.batch", &ids, NULL), 0);
    assert_int_equal(ids.step_id, STEP_ID_BATCH);
    assert_int_equal(ids_parse("s0EXM7W59D6F00.", &ids, NULL), -EINVAL);
    assert_int_equal(ids_parse("s0EXM7W59D6F00.x", &ids, NULL), -EINVAL);
    assert_int_equal(ids_parse("s0EXM7W59D6F0.1", &ids, NULL), -EINVAL);
    assert_int_equal(ids_parse("s0EXM7W59D6F00_1", &ids, NULL), -EINVAL);
}

static void test_sets(void **state)
{
    (void)state;
    assert_true(ids_set_has("1-3,7-11:2", 3));
    assert_true(ids_set_has("1-3,7-11:2", 9));
    assert_false(ids_set_has("1-3,7-11:2", 8));
    assert_false(ids_set_has("1-3,7-11:2", 12));
    assert_true(ids_check_set("0"));
    assert_false(ids_check_set("1,,2"));
    assert_false(ids_check_set("1-"));
}

static void test_steps(void **state)
{
    char buf[16];
    uint32_t id;

    (void)state;
    assert_string_equal(step_name(STEP_ID_BATCH, buf, sizeof(buf)), "batch");
    assert_string_equal(step_name(17, buf, sizeof(buf)), "17");
    assert_int_equal(step_parse("TBD", &id), 0);
    assert_int_equal(id, STEP_ID_PENDING);
    assert_int_equal(step_parse("99x", &id), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good), cmocka_unit_test(test_bad),   cmocka_unit_test(test_sluid),
        cmocka_unit_test(test_sets), cmocka_unit_test(test_steps),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
