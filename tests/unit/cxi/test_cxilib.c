/* test_cxilib.c - the NICs of a node, and a library that is not there */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cxi/cxilib.h"

static const char *const dirs[] = { "sys",
                                    "sys/class",
                                    "sys/class/cxi",
                                    "sys/class/cxi/cxi10",
                                    "sys/class/cxi/cxi2",
                                    "sys/class/cxi/cxi0",
                                    "sys/class/cxi/cxix",
                                    "sys/class/cxi/hsn1" };

static void test_devices(void **state)
{
    char root[] = "/tmp/penstock-cxilib-XXXXXX", path[128];
    uint32_t ids[CXILIB_DEVICES] = { 0 };

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_int_equal(cxilib_devices(root, ids), 0); /* no such folder */
    for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(cxilib_devices(root, ids), 3);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 2);
    assert_int_equal(ids[2], 10);
    for (size_t i = ARRAY_SIZE(dirs); i-- > 0;) {
        (void)snprintf(path, sizeof(path), "%s/%s", root, dirs[i]);
        assert_int_equal(rmdir(path), 0);
    }
    assert_int_equal(rmdir(root), 0);
}

static void test_no_library(void **state)
{
    struct err err = { .text = "" };
    struct cxil c;

    (void)state;
    assert_int_equal(cxilib_load("/nonexistent", &c, &err), -ENOENT);
    assert_non_null(strstr(err.text, "switch/hpe_slingshot needs /nonexistent/usr/lib/libcxi"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_no_library),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
