/* output_util.h - what functions of commands print, and how they end
 *
 * output_begin() ... output_end(&o): the text of both streams meanwhile.  output_of(): the same of
 * a function that may end the process, in a child. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child_util.h"

#ifndef UTIL
#define UTIL __attribute__((unused)) static
#endif

struct output {
    int saved[2], files[2], saved_in;
    int status; /* of output_of(): what the child ended with, -1 a signal */
    char out[16384], err[16384];
};

/* From here on both streams go to files; input (NULL: none) is what standard input holds. */
UTIL void output_begin(struct output *o, const char *input)
{
    int in = memfd_create("input", MFD_CLOEXEC);

    *o = (struct output){ .saved_in = dup(STDIN_FILENO) };
    assert_true(in >= 0 && o->saved_in >= 0);
    if (input)
        assert_int_equal(write(in, input, strlen(input)), strlen(input));
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    assert_int_equal(dup2(in, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(in), 0);
    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < 2; i++) {
        o->saved[i] = dup(STDOUT_FILENO + i);
        o->files[i] = memfd_create("output", MFD_CLOEXEC);
        assert_true(o->saved[i] >= 0 && o->files[i] >= 0);
        assert_int_equal(dup2(o->files[i], STDOUT_FILENO + i), STDOUT_FILENO + i);
    }
}

UTIL void output_end(struct output *o)
{
    (void)fflush(stdout);
    (void)fflush(stderr);
    for (int i = 0; i < 2; i++) {
        char *text = i ? o->err : o->out;
        ssize_t n = pread(o->files[i], text, sizeof(o->out) - 1, 0);

        (void)dup2(o->saved[i], STDOUT_FILENO + i);
        (void)close(o->saved[i]);
        (void)close(o->files[i]);
        text[n < 0 ? 0 : n] = '\0';
    }
    (void)dup2(o->saved_in, STDIN_FILENO);
    (void)close(o->saved_in);
    clearerr(stdin);
}

/* Run fn in a child, which ends with what it makes of itself, else with 0. */
UTIL void output_of(struct output *o, const char *input, void (*fn)(void *ctx), void *ctx)
{
    int status = 0;
    pid_t pid;

    output_begin(o, input);
    pid = fork();
    if (pid == 0) {
        fn(ctx);
        (void)fflush(stdout);
        (void)fflush(stderr);
        child_exit(0);
    }
    (void)waitpid(pid, &status, 0);
    output_end(o);
    assert_true(pid > 0);
    o->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define expect_out(o, text) assert_string_equal((o)->out, (text))
#define expect_err(o, text) assert_string_equal((o)->err, (text))
#define expect_said(o, on_out, on_err)                                                             \
    do {                                                                                           \
        assert_string_equal((o)->out, (on_out));                                                   \
        assert_string_equal((o)->err, (on_err));                                                   \
    } while (0)
