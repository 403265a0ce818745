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

static const char task_samples[] =
    "Step,Node,ElapsedTime,EpochTime,CPUFrequency,CPUTime,CPUUtilization,RSS,VMSize,Pages,"
    "ReadMB,WriteMB\n"
    "0,n1,0,1,0,0.5,0,0,0,0,0,0\n"
    "0,n1,1,2,0,1.5,0,0,0,0,0,0\n";
static const char task_totals[] =
    "Step,Node,ElapsedTime,"
    "Min_EpochTime,Max_EpochTime,Sum_EpochTime,Avg_EpochTime,"
    "Min_CPUFrequency,Max_CPUFrequency,Sum_CPUFrequency,Avg_CPUFrequency,"
    "Min_CPUTime,Max_CPUTime,Sum_CPUTime,Avg_CPUTime,"
    "Min_CPUUtilization,Max_CPUUtilization,Sum_CPUUtilization,Avg_CPUUtilization,"
    "Min_RSS,Max_RSS,Sum_RSS,Avg_RSS,"
    "Min_VMSize,Max_VMSize,Sum_VMSize,Avg_VMSize,"
    "Min_Pages,Max_Pages,Sum_Pages,Avg_Pages,"
    "Min_ReadMB,Max_ReadMB,Sum_ReadMB,Avg_ReadMB,"
    "Min_WriteMB,Max_WriteMB,Sum_WriteMB,Avg_WriteMB\n"
    "0,n1,1,1,2,3,1.500000,0,0,0,0.000000,0.5,1.5,2,1.000000,0,0,0,0.000000,0,0,0,0.000000,"
    "0,0,0,0.000000,0,0,0,0.000000,0,0,0,0.000000,0,0,0,0.000000\n";

static void expect(const struct h5_api *api, h5_id file, const char *series, const char *text,
                   const char *totals, const char *items)
{
    typedef int write_fn(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                         const struct sh5series *which, FILE *to, struct err *err);
    static write_fn *const fns[] = { sh5csv_write, sh5csv_totals, sh5csv_items };
    const char *const texts[] = { text, totals, items };
    struct sh5ids ids = { .job_id = 7 };
    struct sh5series which = { 0 };
    struct err err = { .text = "" };
    char *got = NULL;
    size_t len;

    for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
        FILE *to = open_memstream(&got, &len);

        assert_int_equal(sh5series_read(series, &which), 0);
        assert_int_equal(fns[i](api, file, &ids, &which, to, &err), 0);
        (void)fclose(to);
        assert_string_equal(got, texts[i]);
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
    file = h5_file_open(&api);
    expect(&api, file, "Energy", "Step,Node,ElapsedTime,EpochTime,Power\n0,n1,0,1,80\n",
           "Step,Node,ElapsedTime,Min_EpochTime,Max_EpochTime,Sum_EpochTime,Avg_EpochTime,"
           "Min_Power,Max_Power,Sum_Power,Avg_Power\n"
           "0,n1,0,1,1,1,1.000000,80,80,80,80.000000\n",
           "ElapsedTime\nEpochTime\nPower\n");
    expect(&api, file, "Task_3", task_samples, task_totals,
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
        cmocka_unit_test(test_text),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
