/* test_userfile.c - files that a user has named: what is of this process is refused */
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stepd/io/userfile.h"

static char path[] = "/tmp/userfile.XXXXXX";

static off_t size_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return st.st_size;
}

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd < 0 || write(fd, "old", 3) != 3)
        return -1;
    return close(fd);
}

static int drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_a_file(void **state)
{
    int fd = userfile_open(path, O_WRONLY | O_APPEND);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(size_of(fd), 3);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(close(fd), 0);
    fd = userfile_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(size_of(fd), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(userfile_open("/no/such/file", O_RDONLY), -ENOENT);
    assert_int_equal(userfile_open("/tmp", O_WRONLY), -EISDIR);
}

static void test_our_own(void **state)
{
    char name[40];
    int fd = memfd_create("what it was started with", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(userfile_open("/proc/self/environ", O_RDONLY), -EACCES);
    assert_int_equal(userfile_open("/proc/thread-self/maps", O_RDONLY), -EACCES);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "kept", 4), 4);
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    assert_int_equal(userfile_open(name, O_WRONLY | O_TRUNC), -EACCES);
    assert_int_equal(size_of(fd), 4); /* nor emptied */
    assert_int_equal(close(fd), 0);
}

static void test_in_two_parts(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(userfile_flags(O_WRONLY | O_CREAT | O_TRUNC),
                     O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY);
    assert_int_equal(userfile_take(-ENXIO, O_WRONLY), -ENXIO);
    fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(userfile_take(fd, O_RDONLY), -EACCES);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed */
    assert_int_equal(errno, EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_file, make_file, drop_file),
        cmocka_unit_test(test_our_own),
        cmocka_unit_test(test_in_two_parts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
