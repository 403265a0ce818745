/* test_bundle.c - the files around a container: what is missing, what is too large or no file, and
 * that everything which was made is removed */
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
#include "folder_util.h"
#include "oci/oci.h"

static char folder[64], bundle[128], spool[128], script[128];

static int begin_test(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "bundle");
    (void)snprintf(bundle, sizeof(bundle), "%s/b", folder);
    (void)snprintf(spool, sizeof(spool), "%s/spool/7.0", folder); /* made when it is needed */
    (void)snprintf(script, sizeof(script), "%s/job.sh", folder);
    return mkdir(bundle, 0700);
}

static int end_test(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void write_config(const char *text)
{
    char path[160];

    (void)snprintf(path, sizeof(path), "%s/config.json", bundle);
    (void)unlink(path);
    write_text(path, text);
}

static bool read_made(const char *name, char *text, size_t size)
{
    char path[192];
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/task-3/%s", spool, name);
    f = fopen(path, "re");
    if (!f)
        return false;
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    return true;
}

struct task {
    Pst__OciTask task;
    Pst__OciPlan plan;
    char *env[4];
    struct oci o;
};

static void task_init(struct task *t)
{
    *t = (struct task){ .task = PST__OCI_TASK__INIT, .plan = PST__OCI_PLAN__INIT };
    t->task.task = 3;
    t->task.spool_dir = spool;
    t->task.work_dir = folder;
    t->task.node = t->task.step = t->task.user = (char *)"x";
    t->plan.bundle = bundle;
    t->env[0] = (char *)"A=1";
    t->env[1] = (char *)"B=two\nlines";
    t->o = (struct oci){ .task = &t->task, .plan = &t->plan, .env = t->env };
    t->o.argv = calloc(2, sizeof(*t->o.argv));
    assert_non_null(t->o.argv);
    t->o.argv[0] = strdup(script);
}

static void expect_failure(const char *bundle_path, int r, const char *say)
{
    struct task t;
    struct err err = { .text = "" };
    int got;

    task_init(&t);
    t.plan.bundle = (char *)bundle_path;
    got = oci_paths(&t.o, &err);
    if (got == 0)
        got = oci_make(&t.o, &err);
    assert_int_equal(got, r);
    if (!strstr(err.text, say))
        fail_msg("'%s' is not in: %s", say, err.text);
    oci_remove(&t.o);
    oci_done(&t.o);
}

static void test_what_is_wrong(void **state)
{
    char path[160];

    (void)state;
    expect_failure("/nowhere/b", -ENOENT, "/nowhere/b: No such file");
    expect_failure(bundle, -ENOENT, "config.json: No such file");
    (void)snprintf(path, sizeof(path), "%s/config.json", bundle);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_failure(bundle, -EINVAL, "config.json is not a file");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* would make a reader wait */
    expect_failure(bundle, -EINVAL, "config.json is not a file");
    write_config("{]");
    expect_failure(bundle, -EINVAL, "config.json: line 1: ");
    write_config("{}");
    assert_int_equal(truncate(path, (off_t)OCI_CONFIG_MAX + 1), 0);
    expect_failure(bundle, -EFBIG, "config.json is larger than 4 MiB");
}

static void test_made_and_removed(void **state)
{
    struct task t;
    struct err err = { .text = "" };
    char text[4096];

    (void)state;
    write_config("{\"root\":{\"path\":\"rootfs\"}}");
    write_text(script, "#!/bin/sh\n");
    task_init(&t);
    t.task.script = true;
    t.plan.has_env_file = true;
    t.plan.env_file = 'n';
    assert_int_equal(oci_paths(&t.o, &err), 0);
    assert_int_equal(oci_make(&t.o, &err), 0);
    assert_int_equal(oci_make(&t.o, &err), -ENOENT); /* the script's name is the container's now */
    assert_string_equal(t.o.argv[0], "/var/run/slurm/script");
    assert_true(read_made("script", text, sizeof(text)));
    assert_string_equal(text, "#!/bin/sh\n");
    assert_true(read_made("environ", text, sizeof(text)));
    assert_string_equal(text, "A=1\n"); /* what has two lines would read as two variables */
    assert_true(read_made("config.json", text, sizeof(text)));
    assert_non_null(strstr(text, "/var/run/slurm/script"));
    oci_remove(&t.o);
    assert_false(read_made("script", text, sizeof(text)));
    assert_false(read_made("config.json", text, sizeof(text)));
    oci_remove(&t.o); /* nothing is there */
    oci_done(&t.o);
}

/* MountSpoolDir= without a value is as if it were not there. */
static void test_empty_option(void **state)
{
    struct task t;
    struct err err = { .text = "" };

    (void)state;
    write_config("{\"root\":{\"path\":\"rootfs\"}}");
    write_text(script, "#!/bin/sh\n");
    task_init(&t);
    t.task.script = true;
    t.plan.mount_spool_dir = t.plan.container_path = (char *)"";
    assert_int_equal(oci_paths(&t.o, &err), 0);
    assert_string_equal(t.o.mount_at, "/var/run/slurm");
    assert_string_equal(t.o.spool, spool);
    assert_int_equal(oci_make(&t.o, &err), 0);
    assert_string_equal(t.o.argv[0], "/var/run/slurm/script");
    oci_remove(&t.o);
    oci_done(&t.o);
}

static void test_environment(void **state)
{
    struct task t;
    struct err err = { .text = "" };
    char text[64];

    (void)state;
    write_config("{\"root\":{\"path\":\"/\"}}");
    task_init(&t);
    t.plan.has_env_file = true;
    t.plan.env_file = '0';
    t.plan.env_exclude = (char *)"^A=";
    assert_int_equal(oci_paths(&t.o, &err), 0);
    assert_int_equal(oci_make(&t.o, &err), 0);
    assert_true(read_made("environ", text, sizeof(text)));
    assert_memory_equal(text, "B=two\nlines\0\0", 13); /* ended by a NUL, and no more */
    oci_remove(&t.o);
    oci_done(&t.o);
    task_init(&t);
    t.plan.env_exclude = (char *)"(";
    assert_int_not_equal(oci_paths(&t.o, &err), 0);
    oci_done(&t.o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_wrong, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_made_and_removed, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_empty_option, begin_test, end_test),
        cmocka_unit_test_setup_teardown(test_environment, begin_test, end_test),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
