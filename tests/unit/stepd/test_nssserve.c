/* test_nssserve.c - the step daemon's socket for nss_slurm */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "stepd/nssserve.h"
#include "stepd/shared/ctl.h"
#include "stepd/step.h"

static void test_tells_and_goes(void **state)
{
    char dir[] = "/tmp/nssserve-XXXXXX", buf[64], text[] = "who he is";
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct step s = { .sf = &sf, .uid = getuid(), .nss_fd = -1 };
    struct stat st;
    int fd = -1;

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("nss", 0755) | mkdir("step3", 0711), 0);
    assert_int_equal(chdir("step3"), 0);
    sf.has_step_id = true;
    sf.step_id = 3;
    nssserve_start(&s); /* nothing to tell: no socket */
    assert_int_equal(s.nss_fd, -1);
    assert_int_not_equal(access("../nss/step3", F_OK), 0);
    sf.has_nss_text = true;
    sf.nss_text.data = (uint8_t *)text;
    sf.nss_text.len = sizeof(text);
    nssserve_start(&s);
    assert_true(s.nss_fd >= 0);
    assert_int_equal(stat("../nss/step3", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(ctl_connect("../nss", "step3", &fd), 0);
    nssserve_tell(&s);
    assert_int_equal(recv(fd, buf, sizeof(buf), 0), sizeof(text));
    assert_string_equal(buf, text);
    assert_int_equal(recv(fd, buf, sizeof(buf), 0), 0); /* and no more */
    assert_int_equal(close(fd), 0);
    nssserve_tell(&s); /* nobody is there: it does not wait */
    nssserve_done(&s);
    assert_int_equal(s.nss_fd, -1);
    assert_int_not_equal(access("../nss/step3", F_OK), 0);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(rmdir("nss") | rmdir("step3"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

/* A folder that is missing costs the step nothing. */
static void test_no_folder(void **state)
{
    char dir[] = "/tmp/nssserve-XXXXXX";
    Pst__StepFile sf = PST__STEP_FILE__INIT;
    struct step s = { .sf = &sf, .uid = getuid(), .nss_fd = -1 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    sf.nss_text.data = (uint8_t *)dir;
    sf.nss_text.len = 3;
    nssserve_start(&s);
    assert_int_equal(s.nss_fd, -1);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tells_and_goes),
        cmocka_unit_test(test_no_folder),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
