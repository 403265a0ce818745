/* test_userwrite.c - processes that write to files of a user for the step daemon */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/timefmt.h"
#include "stepd/io/userwrite.h"
#include "stepd/step.h"

struct fixture {
    struct step s;
    struct task t;
    char path[32];
    int fd;
};

static int begin_test(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->s.uid = geteuid();
    f->s.gid = getegid();
    f->t.rank = 7;
    (void)snprintf(f->path, sizeof(f->path), "/tmp/userwrite.XXXXXX");
    f->fd = mkstemp(f->path);
    assert_true(f->fd >= 0);
    assert_int_equal(userwrite_new(&f->s.userwrites), 0);
    *state = f;
    return 0;
}

static int end_test(void **state)
{
    struct fixture *f = *state;

    assert_null(userwrite_free(f->s.userwrites));
    (void)close(f->fd);
    assert_int_equal(unlink(f->path), 0);
    free(f);
    return 0;
}

static const char *content(const struct fixture *f)
{
    static char text[8192];
    ssize_t n = pread(f->fd, text, sizeof(text) - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

/* The process that ends next; its file's errno. */
static int reap_one(struct fixture *f, const struct task **ret_task)
{
    int status, r = 1;
    pid_t pid = waitpid(-1, &status, 0);

    assert_true(pid > 0);
    assert_true(userwrite_reaped(f->s.userwrites, pid, status, ret_task, &r));
    assert_false(userwrite_reaped(f->s.userwrites, pid, status, ret_task, &r)); /* once */
    return r;
}

static void test_texts_in_order(void **state)
{
    struct fixture *f = *state;
    const struct task *t = &f->t;

    for (int i = 0; i < 5; i++) {
        char line[8];

        userwrite_text(&f->s, f->fd, line, (size_t)snprintf(line, sizeof(line), "%d\n", i));
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(reap_one(f, &t), 0);
        assert_null(t);
    }
    assert_string_equal(content(f), "0\n1\n2\n3\n4\n");
    assert_int_equal(waitpid(-1, NULL, 0), -1); /* none is left that nobody knows */
    assert_int_equal(userwrite_until(f->s.userwrites, now_mono_us()), 0);
}

static void test_lines(void **state)
{
    struct fixture *f = *state;
    const struct task *t = NULL;
    int fd = userwrite_lines(&f->s, &f->t, dup(f->fd), 12);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "one\ntw", 6), 6);
    assert_int_equal(write(fd, "o\nhalf", 6), 6);
    assert_int_equal(close(fd), 0);
    assert_int_equal(reap_one(f, &t), 0);
    assert_ptr_equal(t, &f->t);
    assert_string_equal(content(f), " 7: one\n 7: two\n 7: half\n");
}

/* The file takes nothing: whose it was, and why. */
static void test_file_that_fails(void **state)
{
    struct fixture *f = *state;
    const struct task *t = NULL;
    int fd = userwrite_lines(&f->s, &f->t, open("/dev/full", O_WRONLY | O_CLOEXEC), 8);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x\n", 2), 2);
    assert_int_equal(reap_one(f, &t), -ENOSPC);
    assert_ptr_equal(t, &f->t);
    assert_int_equal(close(fd), 0);
}

/* A FIFO that is full stands for a file whose program does not answer: nobody waits for long, and
 * the process can be ended. */
static void test_file_that_does_not_answer(void **state)
{
    struct fixture *f = *state;
    const struct task *t = &f->t;
    int64_t began = now_mono_us(), until;
    int p[2];

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
    while (write(p[1], "x", 1) == 1)
        continue;
    assert_int_equal(fcntl(p[1], F_SETFL, 0), 0);
    for (int i = 0; i < 100; i++)
        userwrite_text(&f->s, p[1], "x", 1);
    assert_true(now_mono_us() - began < 15 * USEC_PER_SEC); /* waited for once: 0.2 s */
    until = userwrite_until(f->s.userwrites, now_mono_us());
    assert_true(until > now_mono_us());
    assert_true(until <= now_mono_us() + USERWRITE_REST_US);
    assert_int_equal(userwrite_until(f->s.userwrites, until - 1), until);
    assert_int_equal(userwrite_until(f->s.userwrites, until), 0);
    userwrite_kill(f->s.userwrites);
    for (int i = 0; i < 100; i++)
        assert_int_equal(reap_one(f, &t), 0);
    (void)close(p[0]);
    (void)close(p[1]);
}

static void test_other_children(void **state)
{
    struct fixture *f = *state;
    const struct task *t;
    int r;

    assert_false(userwrite_reaped(f->s.userwrites, 1, 0, &t, &r));
    assert_false(userwrite_reaped(NULL, 1, 0, &t, &r));
    assert_int_equal(userwrite_until(NULL, 1), 0);
    userwrite_kill(NULL);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin_test, end_test)
    const struct CMUnitTest tests[] = {
        CASE(test_texts_in_order),  CASE(test_lines),
        CASE(test_file_that_fails), CASE(test_file_that_does_not_answer),
        CASE(test_other_children),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
