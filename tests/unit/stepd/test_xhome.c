/* test_xhome.c - an entry in ~/.Xauthority: put in, replaced, taken out; locks of others */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stepd/xhome.h"

static const struct xauth_cookie first = { "first-cookie-16b", 16 },
                                 second = { "second-cookie-16", 16 };

static size_t read_home(const char *dir, char *buf, size_t size)
{
    char path[128];
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/.Xauthority", dir);
    f = fopen(path, "re");
    assert_non_null(f);
    n = fread(buf, 1, size, f);
    (void)fclose(f);
    return n;
}

static bool finds(const char *dir, const char *host, unsigned display,
                  const struct xauth_cookie *cookie)
{
    struct xauth_want want = { .local_name = host, .display = display };
    struct xauth_cookie got;
    char buf[1024];
    size_t n = read_home(dir, buf, sizeof(buf));

    return xauthority_find(buf, n, &want, &got) == 0 && got.len == cookie->len &&
           memcmp(got.bytes, cookie->bytes, got.len) == 0;
}

static void remove_home(const char *dir)
{
    char cmd[160];
    static const char *const names[] = { "", "-c", "-l", "-n" };

    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(cmd, sizeof(cmd), "%s/.Xauthority%s", dir, names[i]);
        (void)unlink(cmd);
    }
    assert_int_equal(rmdir(dir), 0); /* nothing else was left */
}

static void test_entries_of_others_stay(void **state)
{
    char dir[] = "/tmp/xhome.XXXXXX", path[64];
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(xhome_edit(dir, "node1", 10, &first), 0);
    assert_int_equal(xhome_edit(dir, "node2", 10, &second), 0);
    assert_true(finds(dir, "node1", 10, &first));
    assert_int_equal(xhome_edit(dir, "node1", 10, &second), 0);
    assert_true(finds(dir, "node1", 10, &second));
    assert_int_equal(xhome_edit(dir, "node1", 10, NULL), 0);
    assert_false(finds(dir, "node1", 10, &second));
    assert_true(finds(dir, "node2", 10, &second));
    (void)snprintf(path, sizeof(path), "%s/.Xauthority", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    remove_home(dir);
}

static void test_a_lock_of_another_is_heeded(void **state)
{
    char dir[] = "/tmp/xhome.XXXXXX", path[64];
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/.Xauthority-c", dir);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(xhome_edit(dir, "node1", 10, &first), -EAGAIN);
    assert_int_equal(access(path, F_OK), 0); /* its owner's */
    remove_home(dir);
}

static void test_no_home_is_told(void **state)
{
    (void)state;
    assert_int_equal(xhome_edit("/nonexistent", "node1", 10, &first), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_of_others_stay),
        cmocka_unit_test(test_a_lock_of_another_is_heeded),
        cmocka_unit_test(test_no_home_is_told),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
