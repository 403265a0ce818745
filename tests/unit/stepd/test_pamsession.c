/* test_pamsession.c - UsePAM: a session that modules allow, and one that they refuse
 *
 * In a mount namespace of its own, whose /etc/pam.d is the test's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/plug/pamsession.h"

static bool own_folder;

static int set_up(void **state)
{
    (void)state;
    own_folder = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                 mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                 mount("none", "/etc/pam.d", "tmpfs", 0, NULL) == 0;
    return 0;
}

static void write_service(const char *text)
{
    _cleanup_fclose_ FILE *f = fopen("/etc/pam.d/slurm", "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
}

static void test_allowed(void **state)
{
    struct pamsession *p = NULL;
    struct err err = { .text = "" };

    (void)state;
    if (!own_folder)
        skip();
    write_service("auth required pam_permit.so\nsession required pam_permit.so\n");
    assert_int_equal(pamsession_open("root", "node1", &p, &err), 0);
    assert_non_null(p);
    assert_null(pamsession_close(p));
    assert_null(pamsession_close(NULL));
}

static void test_refused(void **state)
{
    struct pamsession *p = NULL;
    struct err err = { .text = "" };

    (void)state;
    if (!own_folder)
        skip();
    write_service("auth required pam_permit.so\nsession required pam_deny.so\n");
    assert_int_equal(pamsession_open("root", "node1", &p, &err), -EACCES);
    assert_null(p);
    assert_memory_equal(err.text,
                        "UsePAM: the session of root in PAM's service slurm is refused: ", 63);
    assert_true(strlen(err.text) > 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_allowed),
                                        cmocka_unit_test(test_refused) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, NULL);
}
