/* test_nspath.c - where a private folder is mounted: links of users lead nowhere */
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
#include <unistd.h>

#include "stepd/ns/nspath.h"

#define USER 54321u

static char dir[] = "/tmp/penstock-nspath-XXXXXX";

static const char *at(const char *name)
{
    static char paths[2][256]; /* a link has two */
    static unsigned turn;
    char *path = paths[turn++ % 2];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

static void make_link(const char *to, const char *name, uid_t uid)
{
    assert_int_equal(symlink(to, at(name)), 0);
    if (geteuid() == 0)
        assert_int_equal(lchown(at(name), uid, uid), 0);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(mkdir(at("real"), 0755), 0);
    assert_int_equal(mkdir(at("real/sub"), 0755), 0);
    assert_int_equal(mkdir(at("his"), 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(chown(at("his"), USER, USER), 0);
    make_link("real", "link", 0);
    make_link(at("real/sub"), "whole", 0);
    make_link("round", "round", 0);
    make_link("/etc", "his/trap", USER);
    make_link("his/trap", "to-trap", 0);
    return close(open(at("file"), O_CREAT | O_WRONLY, 0600));
}

static int tear_down(void **state)
{
    static const char *const files[] = { "file",  "to-trap", "his/trap", "round",
                                         "whole", "link",    NULL };
    static const char *const dirs[] = { "his", "real/sub", "real", NULL };

    (void)state;
    for (const char *const *p = files; *p; p++)
        (void)unlink(at(*p));
    for (const char *const *p = dirs; *p; p++)
        (void)rmdir(at(*p));
    return rmdir(dir);
}

static void expect(const char *path, const char *same)
{
    struct stat got, want;
    int fd = -1;

    assert_int_equal(nspath_open(path, &fd), 0);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &got), 0);
    assert_int_equal(stat(at(same), &want), 0);
    assert_int_equal(got.st_ino, want.st_ino);
    assert_int_equal(got.st_dev, want.st_dev);
    (void)close(fd);
}

static void test_folders(void **state)
{
    int fd = -1;

    (void)state;
    expect(at("real/sub"), "real/sub");
    expect(at("real//./sub/"), "real/sub");
    expect(at("real/../real"), "real");
    expect(at("his"), "his");
    assert_int_equal(nspath_open("/", &fd), 0);
    (void)close(fd);
}

static void test_links_of_root(void **state)
{
    (void)state;
    expect(at("link"), "real");
    expect(at("link/sub"), "real/sub");
    expect(at("whole"), "real/sub");
    expect(at("whole/.."), "real");
}

static void test_refused(void **state)
{
    char path[5000];
    int fd = -1;

    (void)state;
    assert_int_equal(nspath_open("tmp", &fd), -EINVAL);
    assert_int_equal(nspath_open(at("none"), &fd), -ENOENT);
    assert_int_equal(nspath_open(at("file"), &fd), -ENOTDIR);
    assert_int_equal(nspath_open(at("file/sub"), &fd), -ENOTDIR);
    assert_int_equal(nspath_open(at("round"), &fd), -ELOOP);
    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[300] = '\0';
    assert_int_equal(nspath_open(path, &fd), -ENAMETOOLONG);
    path[300] = 'a';
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(nspath_open(path, &fd), -ENAMETOOLONG);
    assert_int_equal(fd, -1);
}

static void test_links_of_users(void **state)
{
    int fd = -1;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(nspath_open(at("his/trap"), &fd), -EPERM);
    assert_int_equal(nspath_open(at("his/trap/ssl"), &fd), -EPERM);
    assert_int_equal(nspath_open(at("to-trap"), &fd), -EPERM); /* also behind one of root's */
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_links_of_root),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_links_of_users),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
