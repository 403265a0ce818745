/* test_helper.c - programs beside the step daemon: where they are, and what they are given */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "stepd/shared/helper.h"

#define HELPERS_USE 64 /* numbers below are theirs */

static void test_fd(void **state)
{
    int fd = open("/dev/null", O_RDONLY), high; /* stays open in a child */

    (void)state;
    assert_true(fd >= 0 && fd < HELPERS_USE);
    high = helper_fd(fd);
    assert_true(high >= HELPERS_USE);
    assert_true(fcntl(high, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* the old one is gone */
    assert_int_equal(close(high), 0);
    assert_int_equal(helper_fd(-1), -EBADF);
}

static void test_message(void **state)
{
    Pst__StepMpi msg = PST__STEP_MPI__INIT, *again;
    uint8_t bytes[] = { 1, 2, 3 }, buf[256];
    struct stat st;
    ssize_t n;
    int fd;

    (void)state;
    msg.has_data = 1;
    msg.data = (ProtobufCBinaryData){ sizeof(bytes), bytes };
    fd = helper_message(&msg.base);
    assert_true(fd >= HELPERS_USE);
    assert_int_equal(fstat(fd, &st), 0);
    n = read(fd, buf, sizeof(buf)); /* from its beginning, all of it */
    assert_int_equal(n, st.st_size);
    again = pst__step_mpi__unpack(NULL, (size_t)n, buf);
    assert_non_null(again);
    assert_int_equal(again->data.len, 3);
    assert_memory_equal(again->data.data, bytes, 3);
    pst__step_mpi__free_unpacked(again, NULL);
    assert_int_equal(close(fd), 0);
}

/* Beside this program. */
static void test_path(void **state)
{
    char path[HELPER_PATH_MAX], self[2048], *slash;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 64);
    int fd;

    (void)state;
    assert_true(n > 0);
    self[n] = '\0';
    assert_int_equal(helper_path("no-such-helper", path, sizeof(path)), -ENOENT);
    slash = strrchr(self, '/') + 1;
    (void)snprintf(slash, 64, "slurmstepd-testhelp%d", (int)getpid());
    fd = open(self, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(helper_path(slash + strlen("slurmstepd-"), path, sizeof(path)), -ENOENT);
    assert_int_equal(fchmod(fd, 0700), 0); /* now it can be run */
    assert_int_equal(close(fd), 0);
    assert_int_equal(helper_path(slash + strlen("slurmstepd-"), path, sizeof(path)), 0);
    assert_string_equal(path, self);
    assert_int_equal(unlink(self), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fd),
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_path),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("helper", tests, NULL, NULL);
}
