/* test_findprog.c - the file that a program's name means: PATH, the current folder, paths */
#include "base/process/findprog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static char dir[] = "/tmp/findprog-XXXXXX";

static void make_file(const char *name, mode_t mode)
{
    FILE *f = fopen(name, "w");

    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(name, mode), 0);
}

/* bin/tool and here may be run; bin/text may not; bin/folder is one. */
static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir) || chdir(dir) < 0 || mkdir("bin", 0700) < 0 || mkdir("bin/folder", 0700) < 0)
        return -1;
    make_file("bin/tool", 0700);
    make_file("bin/text", 0600);
    make_file("here", 0700);
    return setenv("PATH", ":/nowhere:bin:", 1);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink("bin/tool") || unlink("bin/text") || unlink("here") || rmdir("bin/folder") ||
           rmdir("bin") || rmdir(dir);
}

static void test_names(void **state)
{
    static const struct {
        const char *name, *found; /* "/...": behind the current folder */
    } rows[] = {
        { "tool", "bin/tool" }, { "here", "/here" },  { "text", NULL },
        { "folder", NULL },     { "nosuch", NULL },   { "bin/tool", "bin/tool" },
        { "./here", "./here" }, { "bin/text", NULL }, { "bin/folder", NULL },
        { "bin/nosuch", NULL }, { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = findprog(rows[i].name);
        const char *rest = path;

        if (rows[i].found && rows[i].found[0] == '/') {
            assert_non_null(path);
            assert_int_equal(strncmp(path, dir, strlen(dir)), 0);
            rest = path + strlen(dir);
        }
        if (rows[i].found ? !rest || strcmp(rest, rows[i].found) != 0 : path != NULL)
            fail_msg("%s is %s", rows[i].name, path ? path : "nothing");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_names) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
