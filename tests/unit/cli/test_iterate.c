/* test_iterate.c - --iterate: which listing ends the others, and how */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdnoreturn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/iterate.h"

/* The n-th listing prints n and ends so: an exit status, or minus a signal. */
struct play {
    int ends[4];
    int status; /* of the process that iterates, as wait() has it */
    const char *text;
};

static noreturn void list_once(const struct play *p, int *n, int out_fd)
{
    int end;

    if (dup2(out_fd, STDOUT_FILENO) < 0)
        _exit(99);
    iterate_begin(1);
    end = p->ends[(*n)++];
    (void)printf("%d\n", *n);
    if (end < 0) {
        (void)fflush(stdout);
        (void)raise(-end);
    }
    exit(end);
}

static void run_play(const struct play *p)
{
    int *n = mmap(NULL, sizeof(*n), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char text[64] = "";
    int fds[2], status;
    size_t len = 0;
    ssize_t got;
    pid_t pid;

    assert_true(n != MAP_FAILED);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0)
        list_once(p, n, fds[1]);
    (void)close(fds[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    while ((got = read(fds[0], text + len, sizeof(text) - 1 - len)) > 0)
        len += (size_t)got;
    (void)close(fds[0]);
    assert_int_equal(status, p->status);
    assert_string_equal(text, p->text);
    (void)munmap(n, sizeof(*n));
}

static void test_failures_that_pass_do_not_end_it(void **state)
{
    (void)state;
    run_play(&(struct play){ { 0, ITERATE_AGAIN, 3 }, 3 << 8, "1\n\n2\n\n3\n" });
}

static void test_mistakes_and_signals_end_it(void **state)
{
    (void)state;
    run_play(&(struct play){ { 1 }, 1 << 8, "1\n" });
    run_play(&(struct play){ { -SIGTERM }, SIGTERM, "1\n" });
}

static void test_once(void **state)
{
    pid_t self = getpid();

    (void)state;
    iterate_begin(0);
    assert_int_equal(getpid(), self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures_that_pass_do_not_end_it),
        cmocka_unit_test(test_mistakes_and_signals_end_it),
        cmocka_unit_test(test_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
