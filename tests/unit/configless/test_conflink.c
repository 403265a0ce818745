/* test_conflink.c - the link by which commands find the configuration, and the key of a host */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "configless/conffetch.h"
#include "configless/conflink.h"

static char folder[] = "/tmp/conflink.XXXXXX";

static void test_link(void **state)
{
    char path[256], *root;

    (void)state;
    assert_int_equal(conflink_read(&root), -ENOENT);
    conflink_write("/spool/conf-cache");
    assert_int_equal(conflink_read(&root), 0);
    assert_string_equal(root, "/spool/conf-cache");
    free(root);
    assert_int_equal(unlink(conflink_path(path, sizeof(path))), 0);
    assert_int_equal(symlink("relative/current", path), 0);
    assert_int_equal(conflink_read(&root), -ENOENT);
    assert_int_equal(unlink(path), 0);
}

static void test_key(void **state)
{
    char *key;

    (void)state;
    assert_int_equal(conflink_key("/no/such/slurm.conf", NULL, &key), 0);
    assert_null(key);
    assert_int_equal(conflink_key("/no/such/slurm.conf", "/given", &key), 0);
    assert_string_equal(key, "/given");
    free(key);
}

static void test_final(void **state)
{
    (void)state;
    assert_true(conffetch_is_final(-EACCES));
    assert_false(conffetch_is_final(-ECONNREFUSED));
    assert_false(conffetch_is_final(-ETIMEDOUT));
}

static int leave_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_final),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    if (!mkdtemp(folder) || setenv("RUNTIME_DIRECTORY", folder, 1) < 0 ||
        unsetenv("SLURM_SACK_KEY") < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, leave_folder);
}
