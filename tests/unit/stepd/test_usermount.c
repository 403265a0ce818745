/* test_usermount.c - file systems that programs of users serve, as /proc/PID/mountinfo has them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepd/io/usermount.h"

#define ROOT "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"

static void test_types(void **state)
{
    (void)state;
    assert_false(usermount_serves(ROOT, 22));
    assert_true(usermount_serves(ROOT "40 22 0:35 / /mnt rw,nosuid - fuse.sshfs host:/ rw\n", 40));
    assert_false(usermount_serves(ROOT "40 22 0:35 / /mnt rw - fuse.sshfs host:/ rw\n", 22));
    assert_true(usermount_serves("40 22 0:35 / /mnt rw shared:3 master:1 - fuse s rw\n" ROOT, 40));
    assert_true(usermount_serves("31 22 8:1 / /win rw - fuseblk /dev/sda1 rw\n", 31));
    assert_true(usermount_serves("40 22 0:35 / /mnt rw - fuse x rw", 40)); /* no end of line */
    assert_false(usermount_serves("41 22 0:36 / /mnt rw - nfs4 host:/a rw", 41));
}

/* The kernel's own file system whose name begins alike, and "fuse" elsewhere in the line. */
static void test_others(void **state)
{
    (void)state;
    assert_false(usermount_serves("30 22 0:30 / /sys/fs/fuse rw - fusectl fusectl rw\n", 30));
    assert_false(usermount_serves("32 22 0:40 / /fuse rw - tmpfs fuse.sshfs rw\n", 32));
    assert_false(usermount_serves("33 22 0:41 / /a\\040-\\040fuse rw - nfs4 host:/a rw\n", 33));
}

/* A mount of another namespace, one that is away, and a line that is cut. */
static void test_unknown(void **state)
{
    (void)state;
    assert_true(usermount_serves("", 22));
    assert_true(usermount_serves(ROOT, 2));
    assert_true(usermount_serves(ROOT, 222));
    assert_true(usermount_serves("34 22 0:42 / /cut rw -", 34));
}

static void test_descriptors(void **state)
{
    char folder[] = "/tmp/usermount.XXXXXX", name[64];
    int fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    fd = usermount_enter(folder);
    assert_true(fd >= 0); /* just made, so the kernel has it at hand */
    assert_false(usermount_has(fd));
    assert_int_equal(close(fd), 0);
    assert_true(usermount_has(fd));
    snprintf(name, sizeof(name), "%s/none", folder);
    assert_int_equal(access(name, F_OK), -1);
    fd = usermount_enter(name);
    assert_true(fd == -ENOENT || fd == -EAGAIN);
    fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    fd = usermount_enter(name);
    assert_true(fd == -ENOTDIR || fd == -EAGAIN);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* What has no name is the kernel's own; a descriptor is closed in any case. */
static void test_close(void **state)
{
    int p[2], fd;

    (void)state;
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_false(usermount_has(p[1]));
    usermount_close(p[0]);
    usermount_close(p[1]);
    assert_int_equal(fcntl(p[0], F_GETFD), -1);
    assert_int_equal(fcntl(p[1], F_GETFD), -1);
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_false(usermount_has(fd));
    usermount_close(fd);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(waitpid(-1, NULL, 0), -1); /* no child was needed */
    fd = memfd_create("nowhere", MFD_CLOEXEC);  /* of a file system that is mounted nowhere */
    assert_true(fd >= 0 && usermount_has(fd));
    usermount_close(fd);
    assert_true(waitpid(-1, NULL, 0) > 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),   cmocka_unit_test(test_others),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_close),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
