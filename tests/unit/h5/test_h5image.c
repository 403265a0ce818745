/* test_h5image.c - the bytes of a file of a step: what its groups and tables hold */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "h5/h5image.h"

#define LINES                                                                                      \
    "CPUTime,job=7,step=0,task=3,host=n1 value=0.5 1000\n"                                         \
    "CPUTime,job=7,step=0,task=3,host=n1 value=1.5 2000\n"                                         \
    "Power,job=7,step=0,task=Energy,host=n1 value=80 1000\n"

static h5_id open_image(const struct h5_api *api, const void *image, size_t len)
{
    char path[] = "/tmp/penstock-h5image-XXXXXX";
    int fd = mkstemp(path);
    h5_id file;

    assert_int_equal(write(fd, image, len), len);
    (void)close(fd);
    file = api->f_open(path, H5_READ, H5_DEFAULT);
    (void)unlink(path);
    assert_true(file >= 0);
    return file;
}

static void test_image(void **state)
{
    struct h5name name = { 7, "batch", "n1" };
    struct h5_samples s = { 0 };
    struct err err = { .text = "" };
    struct h5_api api;
    union h5_cell cells[2 * H5_COLUMNS_MAX];
    _cleanup_free_ void *image = NULL;
    size_t len;
    h5_id file, data, type;
    char *column;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    assert_int_equal(h5samples_add(&s, LINES, strlen(LINES)), 0);
    assert_int_equal(h5samples_end(&s), 0);
    assert_int_equal(h5image_make(&api, &name, &s, &image, &len, &err), 0);
    file = open_image(&api, image, len);
    assert_true(api.l_exists(file, "/Steps/batch/Nodes/n1/Energy", H5_DEFAULT) > 0);
    assert_false(api.l_exists(file, "/Steps/batch/Nodes/n1/Network", H5_DEFAULT) > 0);
    data = api.d_open(file, "/Steps/batch/Nodes/n1/Tasks/3", H5_DEFAULT);
    assert_true(data >= 0);
    type = api.d_type(data);
    assert_int_equal(api.t_members(type), 10);
    for (unsigned i = 0; i < 10; i++) {
        column = api.t_member_name(type, i);
        assert_string_equal(column, h5_tables[H5_TASK].columns[i].name);
        assert_int_equal(api.t_member_class(type, i),
                         h5_tables[H5_TASK].columns[i].real ? H5_CLASS_REAL : H5_CLASS_INT);
        (void)api.free_memory(column);
    }
    assert_true(api.d_read(data, type, 0, 0, H5_DEFAULT, cells) >= 0);
    assert_int_equal(cells[10].count, 1);
    assert_int_equal(cells[11].count, 2);
    assert_true(cells[13].real == 1.5);
    (void)api.t_close(type);
    (void)api.d_close(data);
    (void)api.f_close(file);
    h5samples_done(&s);
}

/* A step without samples has a file all the same. */
static void test_empty(void **state)
{
    struct h5name name = { 7, "0", "n1" };
    struct h5_samples s = { 0 };
    struct err err = { .text = "" };
    struct h5_api api;
    _cleanup_free_ void *image = NULL;
    size_t len;
    h5_id file;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    assert_int_equal(h5image_make(&api, &name, &s, &image, &len, &err), 0);
    file = open_image(&api, image, len);
    assert_true(api.l_exists(file, "/Steps/0/Nodes/n1", H5_DEFAULT) > 0);
    (void)api.f_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image),
        cmocka_unit_test(test_empty),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
