/* test_sh5csv.c - series of a file as text, and the names of their items */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "cli/sh5util/sh5csv.h"
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

static h5_id open_file(const struct h5_api *api)
{
    char dir[] = "/tmp/penstock-sh5csv-XXXXXX", path[64];
    h5_id file;
    int fd;

    assert_non_null(mkdtemp(dir));
    fd = open(dir, O_RDONLY | O_DIRECTORY);
    h5_file_put(api, fd, "7_0_n1.h5");
    (void)snprintf(path, sizeof(path), "%s/7_0_n1.h5", dir);
    file = api->f_open(path, H5_READ, H5_DEFAULT);
    assert_int_equal(unlink(path), 0);
    (void)close(fd);
    assert_int_equal(rmdir(dir), 0);
    return file;
}

static void expect(const struct h5_api *api, h5_id file, const char *series, const char *text,
                   const char *items)
{
    struct sh5ids ids = { .job_id = 7 };
    struct sh5series which = { 0 };
    struct err err = { .text = "" };
    char *got = NULL;
    size_t len;

    for (unsigned names = 0; names < 2; names++) {
        FILE *to = open_memstream(&got, &len);

        assert_int_equal(sh5series_read(series, &which), 0);
        assert_int_equal((names ? sh5csv_items : sh5csv_write)(api, file, &ids, &which, to, &err),
                         0);
        (void)fclose(to);
        assert_string_equal(got, names ? items : text);
        free(got);
    }
}

static void test_text(void **state)
{
    struct err err = { .text = "" };
    struct sh5ids ids = { .job_id = 7 };
    struct sh5series which = { .node = "n2" };
    struct h5_api api;
    h5_id file;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    file = open_file(&api);
    expect(&api, file, "Energy",
           "Step,Node,Series,ElapsedTime,EpochTime,Power\n0,n1,Energy,0,1,80\n",
           "ElapsedTime\nEpochTime\nPower\n");
    expect(&api, file, "Task_3",
           "Step,Node,Series,ElapsedTime,EpochTime,CPUFrequency,CPUTime,CPUUtilization,RSS,VMSize,"
           "Pages,ReadMB,WriteMB\n"
           "0,n1,Task_3,0,1,0,0.5,0,0,0,0,0,0\n0,n1,Task_3,1,2,0,1.5,0,0,0,0,0,0\n",
           "ElapsedTime\nEpochTime\nCPUFrequency\nCPUTime\nCPUUtilization\nRSS\nVMSize\nPages\n"
           "ReadMB\nWriteMB\n");
    assert_int_equal(sh5series_read(NULL, &which), 0);
    assert_int_equal(sh5csv_write(&api, file, &ids, &which, stderr, &err), -ENOENT);
    which.node = NULL;
    ids.n_steps = 1;
    (void)snprintf(ids.steps[0], sizeof(ids.steps[0]), "1");
    assert_int_equal(sh5csv_write(&api, file, &ids, &which, stderr, &err), -ENOENT);
    (void)api.f_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
