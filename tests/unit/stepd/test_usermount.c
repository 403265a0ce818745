/* test_usermount.c - file systems that programs of users serve, as /proc/PID/mountinfo has them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "stepd/io/usermount.h"

#define ROOT "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"

static void test_types(void **state)
{
    (void)state;
    assert_false(usermount_in(""));
    assert_false(usermount_in(ROOT));
    assert_true(usermount_in(ROOT "40 22 0:35 / /mnt rw,nosuid - fuse.sshfs host:/ rw\n"));
    assert_true(usermount_in("40 22 0:35 / /mnt rw shared:3 master:1 - fuse source rw\n" ROOT));
    assert_true(usermount_in("31 22 8:1 / /win rw - fuseblk /dev/sda1 rw\n"));
    assert_true(usermount_in("40 22 0:35 / /mnt rw - fuse x rw")); /* without an end of line */
}

/* The kernel's own file system whose name begins alike, and "fuse" elsewhere in the line. */
static void test_others(void **state)
{
    (void)state;
    assert_false(usermount_in("30 22 0:30 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"));
    assert_false(usermount_in("32 22 0:40 / /fuse rw - tmpfs fuse.sshfs rw\n"));
    assert_false(usermount_in("33 22 0:41 / /a\\040-\\040fuse rw - nfs4 host:/a rw\n"));
    assert_false(usermount_in("34 22 0:42 / /cut rw -"));
    assert_false(usermount_in("- fuse"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_others),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
