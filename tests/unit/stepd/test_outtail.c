/* test_outtail.c - the end of a script's output: which file, how much of it, and what is no file */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/io/outtail.h"

static char folder[] = "/tmp/test_outtail.XXXXXX";

static int setup(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const names[] = { "slurm-12.out", "train-ann-n7-012-12.txt", "slurm-9_3.out",
                                         "long", "fifo" };
    char path[128];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path); /* a test that failed left it out */
    }
    return rmdir(folder);
}

static void put_file(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* What is read of a job whose output has this name; NULL of `want`: it cannot be read. */
static void check(Pst__JobRecord *job, char *std_out, size_t most, const char *name,
                  const char *want)
{
    Pst__OutputTail tail = PST__OUTPUT_TAIL__INIT;
    char path[128];

    job->std_out = std_out;
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(tail_read(job, "n7", most, &tail), 0);
    assert_string_equal(tail.path, path);
    if (want) {
        assert_null(tail.trouble);
        assert_int_equal(tail.data.len, strlen(want));
        assert_memory_equal(tail.data.data, want, strlen(want));
    } else {
        assert_non_null(tail.trouble);
        assert_false(tail.has_data || tail.has_size);
    }
    free(tail.path);
    free(tail.trouble);
    free(tail.data.data);
}

static void test_names(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    job.job_id = 12;
    job.work_dir = folder;
    job.name = (char *)"train";
    job.user_name = (char *)"ann";
    put_file("slurm-12.out", "usual\n");
    put_file("train-ann-n7-012-12.txt", "all letters\n");
    put_file("slurm-9_3.out", "task\n");
    check(&job, NULL, 100, "slurm-12.out", "usual\n");
    check(&job, (char *)"%x-%u-%N-%3j-%J.txt", 100, "train-ann-n7-012-12.txt", "all letters\n");
    job.has_array_task_id = true;
    job.array_task_id = 3;
    job.array_job_id = 9;
    check(&job, NULL, 100, "slurm-9_3.out", "task\n");
}

static void test_how_much(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__OutputTail tail = PST__OUTPUT_TAIL__INIT;
    char path[128];

    job.work_dir = folder;
    put_file("long", "0123456789");
    check(&job, (char *)"long", 4, "long", "6789");
    check(&job, (char *)"long", 10, "long", "0123456789");
    check(&job, (char *)"long", 0, "long", "");
    (void)snprintf(path, sizeof(path), "%s/long", folder);
    assert_int_equal(truncate(path, 3 * (off_t)TAIL_MOST), 0);
    job.std_out = (char *)"long";
    assert_int_equal(tail_read(&job, "n7", SIZE_MAX, &tail), 0);
    assert_int_equal(tail.data.len, TAIL_MOST);
    assert_int_equal(tail.size, 3 * TAIL_MOST);
    free(tail.path);
    free(tail.data.data);
}

static void test_no_files(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__OutputTail tail = PST__OUTPUT_TAIL__INIT;
    char path[128];

    job.work_dir = folder;
    (void)snprintf(path, sizeof(path), "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    check(&job, (char *)"fifo", 10, "fifo", NULL);
    check(&job, (char *)".", 10, ".", NULL);
    check(&job, (char *)"nosuch", 10, "nosuch", NULL);
    job.std_out = (char *)"none";
    assert_int_equal(tail_read(&job, "n7", 10, &tail), 0);
    assert_string_equal(tail.path, "/dev/null");
    assert_string_equal(tail.trouble, "it is not a regular file");
    free(tail.path);
    free(tail.trouble);
    tail = (Pst__OutputTail)PST__OUTPUT_TAIL__INIT;
    job.std_out = (char *)"relative";
    job.work_dir = NULL; /* a record without a folder */
    assert_int_equal(tail_read(&job, "n7", 10, &tail), 0);
    assert_null(tail.path);
    assert_non_null(tail.trouble);
    free(tail.trouble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_how_much),
        cmocka_unit_test(test_no_files),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
