/* test_cgfile.c - small files and folders of cgroups, in a folder that stands for the kernel's */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepd/cgroup/cgroup_int.h"

static char folder[] = "/tmp/cgfile.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put_file(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int begin_all(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int end_all(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int number_in(const char *text, const char *key, uint64_t *ret)
{
    int r;

    put_file("stat", text);
    r = cgi_number(in_folder("stat"), key, ret);
    assert_int_equal(unlink(in_folder("stat")), 0);
    return r;
}

static void test_numbers(void **state)
{
    uint64_t n = 7;

    (void)state;
    assert_int_equal(number_in("123\n", NULL, &n), 0);
    assert_int_equal(n, 123);
    assert_int_equal(number_in("usage_usec 5\nuser_usec 18446744073709551615\n", "user_usec", &n),
                     0);
    assert_true(n == UINT64_MAX);
    assert_int_equal(number_in("oom_kill_group 3\noom_kill 2\n", "oom_kill", &n),
                     0); /* whole key */
    assert_int_equal(n, 2);
    assert_int_equal(number_in("a oom_kill 9\nb 1", "b", &n), 0); /* the last line without an end */
    assert_int_equal(n, 1);
    assert_int_equal(number_in("a oom_kill 9\n", "oom_kill", &n), -ENOENT); /* first in its line */
    assert_int_equal(number_in("", "oom_kill", &n), -ENOENT);
    assert_int_equal(number_in("max\n", NULL, &n), -EBADMSG); /* no limit is no number */
    assert_int_equal(number_in("oom_kill \n", "oom_kill", &n), -EBADMSG);
    assert_int_equal(cgi_number(in_folder("none"), NULL, &n), -ENOENT);
    assert_int_equal(n, 1); /* as it was */
}

/* A file that is longer than the room is cut, not read over. */
static void test_read(void **state)
{
    char buf[4] = "zzz";

    (void)state;
    put_file("long", "abcdef");
    assert_int_equal(cgi_read(in_folder("long"), buf, sizeof(buf)), 0);
    assert_string_equal(buf, "abc");
    assert_int_equal(cgi_read(in_folder("none"), buf, sizeof(buf)), -ENOENT);
    assert_string_equal(buf, "");
    assert_int_equal(cgi_write(in_folder("long"), "xy"), 0);
    assert_int_equal(cgi_read(in_folder("long"), buf, sizeof(buf)), 0);
    assert_string_equal(buf, "xyc"); /* a file of the kernel is not emptied first */
    assert_int_equal(cgi_write(in_folder("none"), "x"), -ENOENT);
    assert_int_equal(access(in_folder("none"), F_OK), -1); /* nor made */
    assert_int_equal(unlink(in_folder("long")), 0);
}

static void test_paths(void **state)
{
    static struct cgroup_tree tree = { .kind = CGROUP_V2 };
    char path[CGI_PATH], deep[CGI_PATH];

    (void)state;
    (void)snprintf(tree.mount, sizeof(tree.mount), "/m");
    (void)snprintf(tree.root, sizeof(tree.root), "r");
    assert_int_equal(cgi_path(&tree, CGROUP_MEMORY, "job_1", "memory.max", path), 0);
    assert_string_equal(path, "/m/r/job_1/memory.max");
    assert_int_equal(cgi_path(&tree, CGROUP_MEMORY, "", NULL, path), 0);
    assert_string_equal(path, "/m/r");
    tree.kind = CGROUP_V1;
    assert_int_equal(cgi_path(&tree, CGROUP_MEMORY, "job_1", NULL, path), 0);
    assert_string_equal(path, "/m/memory/r/job_1");
    memset(deep, 'x', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    assert_int_equal(cgi_path(&tree, CGROUP_MEMORY, deep, NULL, path), -ENAMETOOLONG);
}

/* A user's own folders below go, the file that stays in one keeps it and those above. */
static void test_remove(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("job"), 0700), 0);
    assert_int_equal(mkdir(in_folder("job/a"), 0700), 0);
    assert_int_equal(mkdir(in_folder("job/a/b"), 0700), 0);
    assert_int_equal(mkdir(in_folder("job/c"), 0700), 0);
    put_file("job/a/b/busy", "");
    assert_true(cgi_remove(in_folder("job")) < 0);
    assert_int_equal(access(in_folder("job/c"), F_OK), -1);
    assert_int_equal(access(in_folder("job/a/b/busy"), F_OK), 0);
    assert_int_equal(unlink(in_folder("job/a/b/busy")), 0);
    assert_int_equal(cgi_remove(in_folder("job")), 0);
    assert_int_equal(access(in_folder("job"), F_OK), -1);
    assert_int_equal(cgi_remove(in_folder("job")), 0); /* it is gone already */
}

/* Those listed, here and below; never a group (0), all (-1) or ourselves. */
static void test_signal(void **state)
{
    pid_t pid = fork();
    char text[96];
    int status;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)pause();
        _exit(0);
    }
    assert_int_equal(mkdir(in_folder("step"), 0700), 0);
    assert_int_equal(mkdir(in_folder("step/task"), 0700), 0);
    (void)snprintf(text, sizeof(text), "0\n-1\n%d\n", (int)getpid());
    put_file("step/cgroup.procs", text);
    (void)snprintf(text, sizeof(text), "%d\n", (int)pid);
    put_file("step/task/cgroup.procs", text);
    assert_int_equal(cgi_signal(in_folder("step"), 0), 1); /* counted alone */
    assert_int_equal(kill(pid, 0), 0);
    assert_int_equal(cgi_signal(in_folder("step"), SIGKILL), 1);
    cgi_wait(in_folder("step"), 20000);
    assert_int_equal(waitpid(pid, &status, WNOHANG), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(unlink(in_folder("step/cgroup.procs")), 0);
    assert_int_equal(unlink(in_folder("step/task/cgroup.procs")), 0);
    assert_int_equal(cgi_signal(in_folder("step"), SIGKILL), 0);
    assert_int_equal(cgi_remove(in_folder("step")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_read),   cmocka_unit_test(test_paths),
        cmocka_unit_test(test_remove),  cmocka_unit_test(test_signal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
