/* test_asuser.c - who becomes a user does so for good */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stepd/shared/asuser.h"

enum { GOOD, REFUSED, OTHER_USER, BACK_TO_ROOT, MAY_GAIN };

/* In a process of its own: what it ends with. */
static int in_child(uint32_t uid)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        if (become_user(uid, uid, NULL, 0) < 0)
            _exit(REFUSED);
        if (getuid() != uid || geteuid() != uid)
            _exit(OTHER_USER);
        if (uid != 0 && setuid(0) == 0)
            _exit(BACK_TO_ROOT);
        _exit(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? GOOD : MAY_GAIN);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_become_user(void **state)
{
    (void)state;
    assert_int_equal(in_child(getuid()), GOOD);
    assert_int_equal(in_child(65534), getuid() == 0 ? GOOD : REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_become_user) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
