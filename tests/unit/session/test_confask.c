/* test_confask.c - which kept configuration a command believes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "session/confask.h"

static char top[] = "/tmp/penstock-confask-XXXXXX";

static void set_age(const char *link, int seconds)
{
    struct timespec t[2] = { { .tv_sec = time(NULL) - seconds } };

    t[1] = t[0];
    assert_int_equal(utimensat(AT_FDCWD, link, t, AT_SYMLINK_NOFOLLOW), 0);
}

static int look(const char *folder)
{
    _cleanup_free_ char *path = NULL;

    return confask_kept(folder, &path);
}

static void test_kept(void **state)
{
    char folder[128], link[160], want[192], other[128];
    char *path = NULL;

    (void)state;
    (void)snprintf(folder, sizeof(folder), "%s/kept", top);
    (void)snprintf(link, sizeof(link), "%s/current", folder);
    (void)snprintf(want, sizeof(want), "%s/0123456789abcdef/slurm.conf", folder);
    (void)snprintf(other, sizeof(other), "%s/link", top);
    assert_int_equal(look(folder), -ENOENT);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(look(folder), -ENOENT);
    assert_int_equal(symlink("0123456789abcdef", link), 0);
    assert_int_equal(confask_kept(folder, &path), 0);
    assert_string_equal(path, want);
    free(path);
    set_age(link, CONFASK_FRESH_S + 5);
    assert_int_equal(look(folder), -ESTALE);
    set_age(link, -3600); /* of a clock that was wrong */
    assert_int_equal(look(folder), -ESTALE);
    set_age(link, 1);
    assert_int_equal(look(folder), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(look(folder), -EACCES);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(symlink(folder, other), 0);
    assert_int_equal(look(other), -EACCES); /* a link is no folder */
    if (geteuid() == 0) {
        assert_int_equal(chown(folder, 12345, 12345), 0);
        assert_int_equal(look(folder), -EACCES);
        assert_int_equal(chown(folder, 0, 0), 0);
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("../../etc/0123456", link), 0);
    assert_int_equal(look(folder), -ENOENT);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("0123456789abcdex", link), 0);
    assert_int_equal(look(folder), -ENOENT);
}

static void test_folder(void **state)
{
    char one[256], two[256], dns[256], run[128];

    (void)state;
    (void)snprintf(run, sizeof(run), "%s/run", top);
    assert_int_equal(mkdir(run, 0700), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", run, 1), 0);
    assert_int_equal(confask_folder("a:6817", one, sizeof(one)), 0);
    assert_int_equal(confask_folder("b:6817", two, sizeof(two)), 0);
    assert_int_equal(confask_folder(NULL, dns, sizeof(dns)), 0);
    assert_int_equal(strncmp(one, run, strlen(run)), 0);
    assert_string_not_equal(one, two);
    assert_string_not_equal(one, dns);
    assert_int_equal(confask_folder(NULL, dns, 8), -ENAMETOOLONG);
    assert_int_equal(chmod(run, 0777), 0); /* others may replace what is in it */
    assert_int_equal(confask_folder("a:6817", two, sizeof(two)), 0);
    assert_int_not_equal(strncmp(two, run, strlen(run)), 0);
}

static void test_path(void **state)
{
    struct err err = { .text = "" };
    char *path = NULL;

    (void)state;
    assert_int_equal(setenv("SLURM_CONF", "/nowhere/slurm.conf", 1), 0);
    assert_int_equal(setenv("SLURM_CONF_SERVER", "127.0.0.1:1", 1), 0);
    assert_int_equal(confask_path(&path, &err), 0); /* it names the file: nobody is asked */
    assert_string_equal(path, "/nowhere/slurm.conf");
    free(path);
}

static int make_top(void **state)
{
    (void)state;
    return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
    char line[128];

    (void)state;
    (void)snprintf(line, sizeof(line), "%s/kept/current", top);
    (void)unlink(line);
    (void)snprintf(line, sizeof(line), "%s/link", top);
    (void)unlink(line);
    (void)snprintf(line, sizeof(line), "%s/kept", top);
    (void)rmdir(line);
    (void)snprintf(line, sizeof(line), "%s/run", top);
    (void)rmdir(line);
    return rmdir(top);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_path),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_top, remove_top);
}
