/* test_rmtree.c - a folder that is removed beside us */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/rmtree.h"

/* Links go, what they lead to stays; a name may look like an option. */
static void test_links(void **state)
{
    char dir[] = "/tmp/test_rmtree.XXXXXX", path[64], kept[64];
    struct stat st;
    int status;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(kept, sizeof(kept), "%s/kept", dir);
    (void)snprintf(path, sizeof(path), "%s/gone", dir);
    assert_int_equal(mkdir(kept, 0700), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/gone/-link", dir);
    assert_int_equal(symlink(kept, path), 0);
    (void)snprintf(path, sizeof(path), "%s/gone", dir);
    assert_int_equal(rmtree_start(path), 0);
    assert_true(waitpid(-1, &status, 0) > 0);
    assert_int_equal(status, 0);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(rmdir(kept), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
