/* test_capture.c - what a program prints is kept, up to a limit */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/capture.h"
#include "base/process/spawnprog.h"

static void test_program(void **state)
{
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)"echo one; (echo two); printf three",
                     NULL };
    int fd = capture_open(1000), fds[] = { -1, fd }, status = -1;
    struct spawn s = { .path = "/bin/sh", .argv = argv, .fds = fds, .n_fds = 2 };
    char *text = NULL;
    pid_t pid;

    (void)state;
    assert_true(fd > 2);
    assert_int_equal(capture_text(fd, &text), 0);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(spawn_program(&s, &pid), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(capture_text(fd, &text), 0);
    assert_string_equal(text, "one\ntwo\nthree");
    free(text);
    (void)close(fd);
}

static void test_limit(void **state)
{
    char much[64];
    int fd = capture_open(40);
    char *text;

    (void)state;
    memset(much, 'x', sizeof(much));
    assert_true(write(fd, much, 30) == 30);
    assert_true(write(fd, much, 30) <= 10); /* what does not fit is an error or cut */
    assert_int_equal(write(fd, much, 30), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 1000), -1);
    assert_int_equal(capture_text(fd, &text), 0);
    assert_in_range(strlen(text), 30, 40);
    free(text);
    (void)close(fd);
}

static void test_no_text(void **state)
{
    int fd = capture_open(40);
    char *text = NULL;

    (void)state;
    assert_int_equal(write(fd, "a\0b", 3), 3);
    assert_int_equal(capture_text(fd, &text), -EILSEQ);
    assert_null(text);
    (void)close(fd);
    assert_int_equal(capture_text(fd, &text), -EBADF);
}

/* A limit that no file can have; nothing stays open. */
static void test_no_such_limit(void **state)
{
    int before = dup(0), after;

    (void)state;
    (void)close(before);
    assert_int_equal(capture_open(SIZE_MAX), -EINVAL);
    after = dup(0);
    (void)close(after);
    assert_int_equal(after, before);
}

/* The offset is the program's too: it may say anything. */
static void test_offset(void **state)
{
    int fd = capture_open(40);
    char *text = NULL;

    (void)state;
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_true(lseek(fd, INT64_C(1) << 50, SEEK_SET) == INT64_C(1) << 50);
    assert_int_equal(capture_text(fd, &text), -EILSEQ); /* what lies between is not text */
    assert_null(text);
    assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
    assert_int_equal(capture_text(fd, &text), 0);
    assert_string_equal(text, "ab");
    free(text);
    (void)close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_no_text), cmocka_unit_test(test_no_such_limit),
        cmocka_unit_test(test_offset),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
