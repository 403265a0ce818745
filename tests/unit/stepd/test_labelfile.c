/* test_labelfile.c - lines of a task in a file, each behind the task's number */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stepd/io/labelfile.h"

static char text[8192];

/* What the file holds after these pieces, ended by NULL, of task `rank` of `tasks`. */
static const char *labelled(uint32_t rank, uint32_t tasks, ...)
{
    int fd = memfd_create("labelled", MFD_CLOEXEC), copy = dup(fd);
    struct labelfile *f = labelfile_new(fd, rank, tasks);
    const char *piece;
    ssize_t n;
    va_list ap;

    assert_non_null(f);
    va_start(ap, tasks);
    while ((piece = va_arg(ap, const char *)))
        assert_int_equal(labelfile_put(f, piece, strlen(piece)), 0);
    va_end(ap);
    assert_int_equal(labelfile_end(f), 0);
    assert_int_equal(labelfile_end(f), 0); /* the rest is written once */
    assert_null(labelfile_free(f));
    n = pread(copy, text, sizeof(text) - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    (void)close(copy);
    return text;
}

static void test_lines(void **state)
{
    (void)state;
    assert_string_equal(labelled(0, 2, "a\nb\n", NULL), "0: a\n0: b\n");
    assert_string_equal(labelled(1, 2, "a", "b\n", "\n", "c", NULL), "1: ab\n1: \n1: c\n");
    assert_string_equal(labelled(3, 12, "x\n", NULL), " 3: x\n");
    assert_string_equal(labelled(3, 12, "", NULL), "");
}

/* A line as long as a piece is one line; a longer one becomes several. */
static void test_pieces(void **state)
{
    char line[LABELFILE_PIECE + 2], want[2 * LABELFILE_PIECE];

    (void)state;
    memset(line, 'x', sizeof(line));
    line[LABELFILE_PIECE] = '\0';
    (void)snprintf(want, sizeof(want), "0: %s\n0: y\n", line);
    assert_string_equal(labelled(0, 1, line, "\ny\n", NULL), want);
    assert_string_equal(labelled(0, 1, line, "y\n", NULL), want);
    (void)snprintf(want, sizeof(want), "0: %s\n0: \n", line);
    assert_string_equal(labelled(0, 1, line, "\n\n", NULL), want);
}

/* The last write happens where the caller says, not where the object is freed. */
static void test_end(void **state)
{
    int fd = memfd_create("labelled", MFD_CLOEXEC), copy = dup(fd);
    struct labelfile *f = labelfile_new(fd, 0, 1);

    (void)state;
    assert_non_null(f);
    assert_int_equal(labelfile_put(f, "a\nb", 3), 0);
    assert_null(labelfile_free(f));
    assert_int_equal(lseek(copy, 0, SEEK_END), 5); /* "0: a\n" */
    (void)close(copy);
}

static void test_full(void **state)
{
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct labelfile *f = labelfile_new(fd, 0, 1);

    (void)state;
    assert_non_null(f);
    assert_int_equal(labelfile_put(f, "a\n", 2), -ENOSPC);
    assert_int_equal(labelfile_put(f, "b\n", 2), -ENOSPC);
    assert_int_equal(labelfile_end(f), -ENOSPC);
    assert_null(labelfile_free(f));
    assert_int_equal(labelfile_end(NULL), 0);
    assert_null(labelfile_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_full),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
