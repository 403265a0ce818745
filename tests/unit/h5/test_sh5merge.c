/* test_sh5merge.c - files of steps made into one; files that are none */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "cli/sh5util/sh5merge.h"
#include "h5_files.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-sh5merge-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    return (system)(command);
}

static void test_merge(void **state)
{
    static const char *const names[] = { "7_0_n2.h5", "7_0_n1.h5", "7_batch_n1.h5" };
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY),
                        out = openat(fd, "out", O_RDWR | O_CREAT, 0600);
    struct sh5ids ids = { .job_id = 7 };
    struct sh5files files = { 0 };
    struct err err = { .text = "" };
    struct h5_api api;
    char path[128];
    h5_id file;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        h5_file_put(&api, fd, names[i]);
    h5_file_put(&api, fd, "8_0_n1.h5"); /* of another job */
    assert_int_equal(sh5files_find(fd, &ids, &files), 0);
    assert_int_equal(files.n, 3);
    assert_string_equal(files.names[0], "7_0_n1.h5");
    assert_int_equal(sh5merge(&api, fd, &files, out, &err), 0);
    sh5files_done(&files);
    (void)snprintf(path, sizeof(path), "%s/out", dir);
    file = api.f_open(path, H5_READ, H5_DEFAULT);
    assert_true(api.l_exists(file, "/Steps/0/Nodes/n1/Tasks/3", H5_DEFAULT) > 0);
    assert_true(api.l_exists(file, "/Steps/0/Nodes/n2/Energy", H5_DEFAULT) > 0);
    assert_true(api.l_exists(file, "/Steps/batch/Nodes/n1/Tasks/3", H5_DEFAULT) > 0);
    (void)api.f_close(file);
}

static void put_bytes(int fd, const char *name, const char *text)
{
    int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);

    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    (void)close(file);
}

/* A link, a file that is no HDF5, and one that is of another step than its name says. */
static void test_wrong(void **state)
{
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY),
                        out = openat(fd, "out2", O_RDWR | O_CREAT, 0600);
    struct err err = { .text = "" };
    struct sh5files files = { 0 };
    struct h5_api api;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    put_bytes(fd, "9_0_n1.h5", "no HDF5");
    assert_int_equal(symlinkat("7_0_n1.h5", fd, "10_0_n1.h5"), 0);
    assert_int_equal(linkat(fd, "7_0_n1.h5", fd, "11_5_n1.h5", 0), 0);
    for (uint32_t job = 9; job <= 11; job++) {
        assert_int_equal(sh5files_find(fd, &(struct sh5ids){ .job_id = job }, &files), 0);
        assert_int_equal(files.n, 1);
        assert_true(sh5merge(&api, fd, &files, out, &err) < 0);
        assert_non_null(strstr(err.text, files.names[0]));
        sh5files_done(&files);
    }
    assert_int_equal(sh5files_find(fd, &(struct sh5ids){ .job_id = 12 }, &files), 0);
    assert_int_equal(files.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_wrong),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
