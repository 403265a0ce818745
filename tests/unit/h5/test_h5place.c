/* test_h5place.c - folders and files below ProfileHDF5Dir: made, kept apart, no link followed */
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

#include "base/cleanup.h"
#include "base/readfile.h"
#include "h5/h5place.h"

static char dir[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-h5place-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -r %s", dir);
    return (system)(command);
}

static int open_top(const char *name, int *ret_fd, struct err *err)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    return h5place_root(path, ret_fd, err);
}

static void test_root(void **state)
{
    struct err err = { .text = "" };
    char path[128];
    int fd = -1;

    (void)state;
    assert_int_equal(open_top("a/b", &fd, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/a/b: No such file or directory"));
    assert_int_equal(open_top("made", &fd, &err), 0);
    (void)close(fd);
    (void)snprintf(path, sizeof(path), "%s/made", dir);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(open_top("made", &fd, &err), -EPERM);
    assert_non_null(strstr(err.text, "nobody else may write to it"));
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(chown(path, 4711, 4711), 0);
        assert_int_equal(open_top("made", &fd, &err), -EPERM);
    }
}

static struct h5head head_of(const char *user)
{
    struct h5head h = { { 7, "0", "n1" }, geteuid(), getegid(), "" };

    (void)snprintf(h.user, sizeof(h.user), "%s", user);
    return h;
}

static void test_user(void **state)
{
    struct h5head h = head_of("alice");
    struct err err = { .text = "" };
    int top = -1, fd = -1;
    struct stat st;

    (void)state;
    assert_int_equal(open_top("top", &top, &err), 0);
    assert_int_equal(h5place_user(top, &h, &fd, &err), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    (void)close(fd);
    assert_int_equal(symlinkat("/etc", top, "bob"), 0);
    h = head_of("bob");
    assert_true(h5place_user(top, &h, &fd, &err) < 0); /* a link */
    h = head_of("alice");
    if (geteuid() == 0) {
        h.uid = 4711; /* a folder that is nobody's yet is given away */
        assert_int_equal(h5place_user(top, &h, &fd, &err), 0);
        (void)close(fd);
        h.uid = 4712; /* not twice */
        assert_int_equal(h5place_user(top, &h, &fd, &err), -EPERM);
        assert_string_equal(err.text, "the folder alice is not that of user 4712");
    }
    (void)close(top);
}

static void expect_file(int fd, const char *name, const char *text)
{
    int file = openat(fd, name, O_RDONLY | O_NOFOLLOW);
    _cleanup_free_ char *found = NULL;
    size_t len;

    assert_true(file >= 0);
    assert_int_equal(readfile_fd(file, 100, &found, &len), 0);
    assert_string_equal(found, text);
    (void)close(file);
}

/* A file that is there already is kept, a link is put aside as it is. */
static void test_put(void **state)
{
    struct h5head h = head_of("carol");
    struct err err = { .text = "" };
    int top = -1, fd = -1;
    struct stat st;

    (void)state;
    assert_int_equal(open_top("top", &top, &err), 0);
    assert_int_equal(h5place_user(top, &h, &fd, &err), 0);
    (void)close(fd);
    fd = openat(top, "carol", O_RDONLY | O_DIRECTORY);
    assert_int_equal(h5place_put(fd, "7_0_n1.h5", "one", 3, &err), 0);
    assert_int_equal(h5place_put(fd, "7_0_n1.h5", "two", 3, &err), 0);
    assert_int_equal(h5place_put(fd, "7_0_n1.h5", "three", 5, &err), 0);
    expect_file(fd, "7_0_n1.h5", "three");
    expect_file(fd, "7_0_n1.h5.1", "one");
    expect_file(fd, "7_0_n1.h5.2", "two");
    assert_int_equal(fstatat(fd, "7_0_n1.h5", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(symlinkat("../target", fd, "7_1_n1.h5"), 0);
    assert_int_equal(h5place_put(fd, "7_1_n1.h5", "four", 4, &err), 0);
    expect_file(fd, "7_1_n1.h5", "four");
    assert_int_equal(fstatat(top, "target", &st, 0), -1);
    assert_int_equal(h5place_put(fd, "none/x.h5", "five", 4, &err), -ENOENT);
    (void)close(fd);
    (void)close(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_user),
        cmocka_unit_test(test_put),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
