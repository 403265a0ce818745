/* test_closeout.c - a program whose output could not be written */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process/closeout.h"

#define PIPE_CLOSED "|"

/* A program that prints and ends with a status; its exit code, and what it said. */
static int play(const char *output, const char *text, int status, char *said, size_t size)
{
    int p[2], pipe_out[2], code, n;
    pid_t pid;

    assert_int_equal(pipe(p), 0);
    assert_int_equal(pipe(pipe_out), 0);
    (void)fflush(stdout);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(pipe_out[0]);
        (void)dup2(p[1], 2);
        (void)dup2(*output == '|' ? pipe_out[1] : open(output, O_WRONLY), 1);
        (void)signal(SIGPIPE, SIG_IGN);
        if (closeout_begin("prog") < 0 || closeout_begin("prog") < 0)
            _exit(99);
        (void)fputs(text, stdout);
        if (*text == '!')
            (void)fflush(stdout);
        if (text[0] == '!' && text[1] == '!')
            errno = ENOENT; /* somebody else's */
        exit(status);
    }
    (void)close(p[1]);
    (void)close(pipe_out[0]);
    (void)close(pipe_out[1]);
    n = (int)read(p[0], said, size - 1);
    said[n > 0 ? n : 0] = '\0';
    (void)close(p[0]);
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_true(WIFEXITED(code));
    return WEXITSTATUS(code);
}

static void test_outputs(void **state)
{
    static const char full[] = "prog: error: the output is not complete: "
                               "No space left on device\n";
    static const struct {
        const char *output, *text;
        int status, want;
        const char *said;
    } cases[] = {
        { "/dev/null", "text", 0, 0, "" },
        { "/dev/null", "text", 3, 3, "" },
        { "/dev/full", "", 0, 0, "" }, /* there was nothing to write */
        { "/dev/full", "text", 0, 1, full },
        { "/dev/full", "text", 3, 3, full },
        { "/dev/full", "!written before the end", 0, 1, full },
        { "/dev/full", "!!the reason is gone", 0, 1,
          "prog: error: the output is not complete: a write failed\n" },
        { PIPE_CLOSED, "text", 0, 1, "" },
        { PIPE_CLOSED, "text", 2, 2, "" },
    };
    char said[256];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(play(cases[i].output, cases[i].text, cases[i].status, said, sizeof(said)),
                         cases[i].want);
        assert_string_equal(said, cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_outputs) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
