/* test_envfilter.c - which variables a container and its runtime get */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "oci/oci.h"

static void expect_list(char *const *env, const char *regex, const char *const *want)
{
    char **got = NULL;
    size_t n = 0;

    assert_int_equal(oci_env_filter(env, regex, &got), 0);
    for (; want[n]; n++) {
        assert_non_null(got[n]);
        assert_string_equal(got[n], want[n]);
    }
    assert_null(got[n]);
    free(got);
}

static void test_filter(void **state)
{
    char *env[] = { (char *)"PATH=/bin", (char *)"SLURM_JOB_ID=1", (char *)"X=SLURM_", NULL };
    char *none[] = { NULL };
    char **got = (char **)(void *)none;

    (void)state;
    expect_list(env, NULL,
                (const char *const[]){ "PATH=/bin", "SLURM_JOB_ID=1", "X=SLURM_", NULL });
    expect_list(env, "^(SLURM_|PATH=)", (const char *const[]){ "X=SLURM_", NULL });
    expect_list(env, "SLURM_", (const char *const[]){ "PATH=/bin", NULL }); /* values too */
    expect_list(env, "", (const char *const[]){ NULL });
    expect_list(none, "x", (const char *const[]){ NULL });
    assert_int_equal(oci_env_filter(env, "(", &got), -EINVAL);
    assert_ptr_equal(got, none); /* untouched */
}

static void test_set(void **state)
{
    char *env[] = { (char *)"A=1", (char *)"AB=2", NULL }, **list = NULL;

    (void)state;
    assert_int_equal(oci_env_filter(env, NULL, &list), 0);
    assert_int_equal(oci_env_set(&list, "A=9"), 0);
    assert_int_equal(oci_env_set(&list, "B=3"), 0);
    assert_int_equal(oci_env_set(&list, "AB="), 0);
    assert_string_equal(list[0], "A=9");
    assert_string_equal(list[1], "AB=");
    assert_string_equal(list[2], "B=3");
    assert_null(list[3]);
    assert_string_equal(env[0], "A=1"); /* the other list is its owner's */
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_filter), cmocka_unit_test(test_set) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
