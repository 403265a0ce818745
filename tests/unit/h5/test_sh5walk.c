/* test_sh5walk.c - which series, and names as text */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "cli/sh5util/sh5walk.h"
#include "h5_files.h"

static void test_series(void **state)
{
    static const char *const wrong[] = { "", "x", "Task_", "Task_x", "Task_1x", "Energy " };
    struct sh5series s = { 0 };

    (void)state;
    assert_int_equal(sh5series_read(NULL, &s), 0);
    assert_true(s.kinds[H5_TASK] && s.kinds[H5_ENERGY] && s.kinds[H5_NETWORK]);
    assert_int_equal(sh5series_read("lustre", &s), 0);
    assert_true(s.kinds[H5_FILESYSTEM] && !s.kinds[H5_TASK]);
    assert_int_equal(sh5series_read("Tasks", &s), 0);
    assert_true(s.kinds[H5_TASK] && !s.one_task);
    assert_int_equal(sh5series_read("Task_3", &s), 0);
    assert_true(s.kinds[H5_TASK] && s.one_task);
    assert_string_equal(s.task, "3");
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_int_equal(sh5series_read(wrong[i], &s), -EINVAL);
}

static void test_many(void **state)
{
    static const struct {
        const char *series;
        bool many;
    } cases[] = {
        { NULL, true },
        { "Task", true },
        { "Task_0", false },
        { "Energy", false },
    };
    struct sh5series s = { 0 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(sh5series_read(cases[i].series, &s), 0);
        assert_int_equal(sh5series_many(&s), cases[i].many);
    }
}

static void test_names(void **state)
{
    char *got = NULL;
    size_t len;
    FILE *to = open_memstream(&got, &len);

    (void)state;
    sh5walk_name(to, "n1");
    sh5walk_name(to, "a,\"b\n");
    (void)fclose(to);
    assert_string_equal(got, "n1\"a,\"\"b?\"");
    free(got);
}

static int give_up_at(void *ctx, const struct sh5table *t)
{
    ++*(unsigned *)ctx;
    return -ENOMEM;
}

static void test_end(void **state)
{
    struct err err = { .text = "" };
    struct sh5ids ids = { .job_id = 7 };
    struct sh5series which = { 0 };
    struct h5_api api;
    unsigned tables = 0;
    h5_id file;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    file = h5_file_open(&api);
    assert_int_equal(sh5series_read(NULL, &which), 0);
    assert_int_equal(sh5walk(&api, file, &ids, &which, give_up_at, &tables, &err), -ENOMEM);
    assert_int_equal(tables, 1);
    assert_string_equal(err.text, "a series could not be read");
    (void)api.f_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
