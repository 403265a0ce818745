/* test_ownfile.c - files that commands make: nothing that others have prepared is written to */
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

#include "cli/base/ownfile.h"

#define USER 54321u

static char dir[64];

static const char *at(const char *name)
{
    static char paths[2][128]; /* a link has two */
    static unsigned turn;
    char *path = paths[turn++ % 2];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

static void put(const char *name, const char *text)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static long size_of(const char *name)
{
    struct stat st;

    assert_int_equal(stat(at(name), &st), 0);
    return (long)st.st_size;
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/penstock-ownfile-XXXXXX");
    assert_non_null(mkdtemp(dir));
    put("precious", "secret");
    assert_int_equal(symlink(at("precious"), at("link")), 0);
    assert_int_equal(symlink(at("nowhere"), at("dangling")), 0);
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = { "precious", "link", "dangling", "fifo",
                                         "fresh",    "old",  "hard",     NULL };

    (void)state;
    for (const char *const *p = names; *p; p++)
        (void)unlink(at(*p));
    return rmdir(dir);
}

static void test_create(void **state)
{
    int fd = ownfile_create(at("fresh"), 0600);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    (void)close(fd);
    put("old", "long before");
    fd = ownfile_create(at("old"), 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(size_of("old"), 0);
    assert_int_equal(ownfile_create(at("no/such"), 0600), -ENOENT);
}

static void test_prepared(void **state)
{
    (void)state;
    assert_int_equal(link(at("precious"), at("hard")), 0);
    assert_int_equal(ownfile_create(at("link"), 0600), -EEXIST);
    assert_int_equal(ownfile_create(at("hard"), 0600), -EEXIST);
    assert_int_equal(ownfile_create(at("dangling"), 0600), -EEXIST);
    assert_int_equal(ownfile_create(at("fifo"), 0600), -EEXIST);
    assert_int_equal(size_of("precious"), 6);
    assert_int_equal(access(at("nowhere"), F_OK), -1);
}

static void test_for_a_user(void **state)
{
    int fd = ownfile_for(at("fresh"), false, USER);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(ownfile_for(at("fresh"), false, USER), -EEXIST);
    fd = ownfile_for(at("fresh"), true, geteuid());
    assert_true(fd >= 0); /* his already */
    (void)close(fd);
    assert_int_equal(link(at("precious"), at("hard")), 0);
    assert_int_equal(ownfile_for(at("link"), true, USER), -EPERM);
    assert_int_equal(ownfile_for(at("dangling"), true, USER), -EPERM);
    assert_int_equal(ownfile_for(at("hard"), true, geteuid()), -EPERM);
    assert_int_equal(ownfile_for(at("fifo"), true, geteuid()), -EPERM);
    if (geteuid() == 0) /* whoever gets it would get what is another's */
        assert_int_equal(ownfile_for(at("fresh"), true, USER), -EPERM);
    assert_int_equal(access(at("nowhere"), F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_create, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prepared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_for_a_user, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
