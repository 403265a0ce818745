/* test_cgsweep.c - which folders a sweep takes for jobs, and which it leaves */
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

static void make_folder(const struct cgroup_tree *t, const char *name)
{
    char path[CGI_PATH];

    assert_true(snprintf(path, sizeof(path), "%s/%s", t->mount, name) < CGI_PATH);
    for (char *p = path + strlen(t->mount) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    }
    assert_int_equal(mkdir(path, 0755), 0);
}

static bool is_there(const struct cgroup_tree *t, const char *name)
{
    char path[CGI_PATH];

    assert_true(snprintf(path, sizeof(path), "%s/%s", t->mount, name) < CGI_PATH);
    return access(path, F_OK) == 0;
}

static bool keep_seven(void *ctx, const char *job)
{
    (*(int *)ctx)++;
    return strcmp(job, "job_7") == 0;
}

static void test_version_two(void **state)
{
    struct cgroup_tree t = { .kind = CGROUP_V2, .root = "r", .use = CGROUP_FREEZER };
    int asked = 0;

    (void)state;
    folder_make(t.mount, sizeof(t.mount), "cgsweep");
    assert_int_equal(cgroup_tree_sweep(&t, "me", keep_seven, &asked), 0); /* no root yet */
    make_folder(&t, "r/job_7/step_0/user");
    make_folder(&t, "r/job_8/step_0/user/task_1");
    make_folder(&t, "r/job_9");
    make_folder(&t, "r/system");
    make_folder(&t, "r/jobs_1");
    make_folder(&t, "r/uid_5/job_8"); /* version 1's */
    assert_int_equal(cgroup_tree_sweep(&t, "me", keep_seven, &asked), 2);
    assert_int_equal(asked, 3); /* of jobs only */
    assert_true(is_there(&t, "r/job_7/step_0/user"));
    assert_false(is_there(&t, "r/job_8"));
    assert_false(is_there(&t, "r/job_9"));
    assert_true(is_there(&t, "r/system") && is_there(&t, "r/jobs_1"));
    assert_true(is_there(&t, "r/uid_5/job_8"));
    assert_int_equal(cgroup_tree_sweep(&t, "me", NULL, NULL), 1); /* none is known */
    assert_false(is_there(&t, "r/job_7"));
    folder_remove(t.mount);
}

/* Version 1 has a folder for each user between; it goes with the user's last job. */
static void test_version_one(void **state)
{
    struct cgroup_tree t = { .kind = CGROUP_V1, .root = "r", .use = CGROUP_FREEZER };
    int asked = 0;
    char name[128] = "freezer/r/uid_", *end = name + strlen(name);

    (void)state;
    folder_make(t.mount, sizeof(t.mount), "cgsweep");
    make_folder(&t, "freezer/r/uid_5/job_7/step_0");
    make_folder(&t, "freezer/r/uid_5/job_8");
    make_folder(&t, "freezer/r/uid_6/job_9");
    make_folder(&t, "freezer/r/job_1"); /* of no user */
    memset(end, '9', 80);               /* no number of a user is so long */
    (void)snprintf(end + 80, sizeof(name) - 80 - (size_t)(end - name), "/job_2");
    make_folder(&t, name);
    assert_int_equal(cgroup_tree_sweep(&t, "me", keep_seven, &asked), 2);
    assert_int_equal(asked, 3);
    assert_true(is_there(&t, "freezer/r/uid_5/job_7/step_0"));
    assert_false(is_there(&t, "freezer/r/uid_5/job_8"));
    assert_false(is_there(&t, "freezer/r/uid_6"));
    assert_true(is_there(&t, "freezer/r/job_1"));
    assert_true(is_there(&t, name));
    folder_remove(t.mount);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_two),
        cmocka_unit_test(test_version_one),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
