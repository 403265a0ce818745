/* test_cgdev.c - which devices a cgroup is kept from, without a kernel that is asked: the list of
 * version 1, and the refusals before anything is loaded */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "folder_util.h"
#include "stepd/cgroup/cgroup_int.h"

static void tree_init(struct cgroup_tree *t, enum cgroup_kind kind)
{
    *t = (struct cgroup_tree){ .kind = kind, .root = "r", .use = CGROUP_DEVICES };
    folder_make(t->mount, sizeof(t->mount), "cgdev");
}

static void make_folder(const struct cgroup_tree *t, const char *name)
{
    char path[CGI_PATH];

    assert_true(snprintf(path, sizeof(path), "%s/%s", t->mount, name) < CGI_PATH);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void test_none(void **state)
{
    struct cgroup_tree t;

    (void)state;
    tree_init(&t, CGROUP_V1);
    assert_int_equal(cgi_deny(&t, "j", NULL, 0), 0); /* writes nothing: there is no file */
    folder_remove(t.mount);
}

/* Each device is a line of its own, and the first that is refused ends it. */
static void test_list(void **state)
{
    const struct cgroup_device deny[] = {
        { .block = false, .major = 195, .minor = 0 },
        { .block = true, .major = 259, .minor = 7 },
    };
    struct cgroup_tree t;
    char path[CGI_PATH], text[64];

    (void)state;
    tree_init(&t, CGROUP_V1);
    assert_int_equal(cgi_deny(&t, "j", deny, 2), -ENOENT); /* no such cgroup */
    make_folder(&t, "devices");
    make_folder(&t, "devices/r");
    make_folder(&t, "devices/r/j");
    assert_int_equal(cgi_path(&t, CGROUP_DEVICES, "j", "devices.deny", path), 0);
    assert_int_equal(fclose(fopen(path, "we")), 0);
    assert_int_equal(cgi_deny(&t, "j", deny, 2), 0);
    assert_int_equal(cgi_read(path, text, sizeof(text)), 0);
    assert_string_equal(text, "b 259:7 rwm"); /* a file keeps the last write, at its start */
    folder_remove(t.mount);
}

static void test_version_two(void **state)
{
    static struct cgroup_device many[513];
    struct cgroup_tree t;
    char longest[2 * CGI_PATH];

    (void)state;
    tree_init(&t, CGROUP_V2);
    assert_int_equal(cgi_deny(&t, "nowhere", many, 1), -ENOENT);
    assert_int_equal(cgi_deny(&t, "nowhere", many, ARRAY_SIZE(many)), -E2BIG);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(cgi_deny(&t, longest, many, 1), -ENAMETOOLONG);
    make_folder(&t, "r");
    assert_true(cgi_deny(&t, NULL, many, 512) < 0); /* a folder, and no cgroup */
    folder_remove(t.mount);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_version_two),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
