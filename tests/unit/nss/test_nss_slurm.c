/* test_nss_slurm.c - whom libnss_slurm never asks jobs about; the rest is tests/integration/nss */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nss/nss_slurm.h"

static void test_root(void **state)
{
    struct passwd pw;
    struct group gr;
    char buf[256];
    int e = 0;

    (void)state;
    assert_int_equal(_nss_slurm_getpwuid_r(0, &pw, buf, sizeof(buf), &e), NSS_STATUS_NOTFOUND);
    assert_int_equal(e, ENOENT);
    assert_int_equal(_nss_slurm_getpwnam_r("root", &pw, buf, sizeof(buf), &e), NSS_STATUS_NOTFOUND);
    assert_int_equal(_nss_slurm_getgrgid_r(0, &gr, buf, sizeof(buf), &e), NSS_STATUS_NOTFOUND);
    assert_int_equal(_nss_slurm_getgrnam_r("root", &gr, buf, sizeof(buf), &e), NSS_STATUS_NOTFOUND);
}

static void test_no_names(void **state)
{
    static const char *const names[] = { "", "a b", "a:b", "../x", "a,b", "a\n" };
    long start = 1, size = 1;
    gid_t *list = malloc(sizeof(*list));
    struct passwd pw;
    char buf[256];
    int e = 0;

    (void)state;
    assert_non_null(list);
    list[0] = 7;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(_nss_slurm_getpwnam_r(names[i], &pw, buf, sizeof(buf), &e),
                         NSS_STATUS_NOTFOUND);
        assert_int_equal(_nss_slurm_initgroups_dyn(names[i], 7, &start, &size, &list, 0, &e),
                         NSS_STATUS_NOTFOUND);
    }
    assert_int_equal(start, 1);
    assert_int_equal(list[0], 7);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_no_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
