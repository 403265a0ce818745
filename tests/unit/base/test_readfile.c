/* test_readfile.c - whole files, and what is not one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/readfile.h"

static char folder[] = "/tmp/readfile.XXXXXX", path[64];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/f", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static void write_bytes(size_t len)
{
    _cleanup_fclose_ FILE *f = fopen(path, "we");

    assert_non_null(f);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(fputc((int)('a' + i % 26), f), (int)('a' + i % 26));
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 100000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        char *text = NULL;
        size_t len = 1;

        write_bytes(sizes[i]);
        assert_int_equal(readfile(path, sizes[i], &text, &len), 0);
        assert_int_equal(len, sizes[i]);
        assert_int_equal(strlen(text), sizes[i]);
        free(text);
        if (!sizes[i])
            continue;
        text = NULL;
        assert_int_equal(readfile(path, sizes[i] - 1, &text, &len), -EFBIG);
        assert_null(text);
    }
}

static void test_pipes(void **state)
{
    static const size_t sizes[] = { 0, 10, 4097, 60000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        _cleanup_free_ char *sent = calloc(1, sizes[i] + 1);
        _cleanup_free_ char *text = NULL;
        size_t len;
        int fds[2];

        memset(sent, 'x', sizes[i]);
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(write(fds[1], sent, sizes[i]), sizes[i]);
        close(fds[1]);
        assert_int_equal(readfile_fd(fds[0], 60000, &text, &len), 0);
        close(fds[0]);
        assert_int_equal(len, sizes[i]);
        assert_string_equal(text, sent);
    }
}

static void test_no_files(void **state)
{
    char *text = NULL;
    size_t len;

    (void)state;
    (void)unlink(path);
    assert_int_equal(readfile(path, 10, &text, &len), -ENOENT);
    assert_int_equal(readfile(folder, 10, &text, &len), -EISDIR);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(readfile(path, 10, &text, &len), -EINVAL);
    assert_null(text);
    (void)unlink(path);
    assert_int_equal(readfile("/proc/self/stat", 1 << 16, &text, &len), 0); /* its size is 0 */
    assert_true(len > 10);
    free(text);
}

static void test_first_line(void **state)
{
    char line[8];
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    (void)fputs("first\nsecond line\n", f);
    assert_int_equal(fclose(f), 0);
    readfile_line(path, line, sizeof(line));
    assert_string_equal(line, "first");
    readfile_line(path, line, 4);
    assert_string_equal(line, "fir");
    readfile_line("/nosuch/file", line, sizeof(line));
    assert_string_equal(line, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_pipes),
                                        cmocka_unit_test(test_no_files),
                                        cmocka_unit_test(test_first_line) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
