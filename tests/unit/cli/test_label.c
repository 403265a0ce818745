/* test_label.c - lines of many tasks on one stream */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "cli/job/label.h"

static void take(void *ctx, const char *data, size_t n)
{
    strbuf_addn(ctx, data, n);
}

static void put(struct label *l, uint32_t task, const char *text)
{
    label_data(l, task, text, strlen(text));
}

static void test_raw(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct label *l = label_new(LABEL_RAW, 2, take, &sb);

    (void)state;
    put(l, 0, "ab");
    put(l, 1, "cd\n");
    label_eof_all(l);
    assert_string_equal(strbuf_str(&sb), "abcd\n");
    label_free(l);
    strbuf_done(&sb);
}

static void test_lines(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct label *l = label_new(LABEL_LINES, 3, take, &sb);

    (void)state;
    put(l, 0, "one ");
    put(l, 1, "two\nthree");
    assert_string_equal(strbuf_str(&sb), "two\n");
    put(l, 0, "more\n");
    assert_string_equal(strbuf_str(&sb), "two\none more\n");
    label_eof(l, 1);
    assert_string_equal(strbuf_str(&sb), "two\none more\nthree"); /* nothing is added */
    put(l, 9, "from nowhere\n");
    label_free(l);
    strbuf_done(&sb);
}

static void test_labels(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct label *l = label_new(LABEL_TASKS, 12, take, &sb);

    (void)state;
    put(l, 9, "a\nb\nc");
    put(l, 10, "x\n");
    put(l, 9, "\n");
    put(l, 0, "\n");
    put(l, 11, "open");
    label_eof_all(l);
    assert_string_equal(strbuf_str(&sb), " 9: a\n 9: b\n10: x\n 9: c\n 0: \n11: open\n");
    label_free(l);
    strbuf_done(&sb);
}

static void test_width(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct label *l = label_new(LABEL_TASKS, 10, take, &sb);

    (void)state;
    put(l, 9, "x\n");
    assert_string_equal(strbuf_str(&sb), "9: x\n");
    label_free(l);
    strbuf_done(&sb);
}

/* A labelled line beyond the limit becomes several, wherever the stream is cut. */
static void test_long_line(void **state)
{
    static char part[3000];

    (void)state;
    memset(part, 'y', sizeof(part));
    for (size_t cut = 1; cut <= sizeof(part); cut += 499) {
        struct strbuf sb = STRBUF_INIT;
        struct label *l = label_new(LABEL_TASKS, 1, take, &sb);

        for (size_t at = 0; at < sizeof(part); at += cut)
            label_data(l, 0, part + at, cut < sizeof(part) - at ? cut : sizeof(part) - at);
        put(l, 0, "\nend\n");
        assert_int_equal(sb.len, sizeof(part) + 3 * 4 + 7);
        assert_memory_equal(sb.buf + LABEL_PIECE + 3, "\n0: yyy", 7);
        assert_string_equal(sb.buf + sb.len - 8, "\n0: end\n");
        strbuf_reset(&sb);
        label_data(l, 0, part, LABEL_PIECE); /* just as long: no empty line behind it */
        put(l, 0, "\n");
        assert_int_equal(sb.len, LABEL_PIECE + 4);
        label_free(l);
        strbuf_done(&sb);
    }
}

/* Without buffering each fragment is a line. */
static void test_pieces(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    struct label *l = label_new(LABEL_PIECES, 2, take, &sb);

    (void)state;
    put(l, 0, "a");
    put(l, 1, "x\ny");
    put(l, 0, "b\n");
    label_eof_all(l);
    assert_string_equal(strbuf_str(&sb), "0: a\n1: x\n1: y\n0: b\n");
    label_free(l);
    strbuf_done(&sb);
}

/* Any way of cutting the stream gives the same text. */
static void test_cuts(void **state)
{
    static const char text[] = "first\n\nthird line\nlast";

    (void)state;
    for (size_t cut = 1; cut < sizeof(text); cut++) {
        struct strbuf sb = STRBUF_INIT;
        struct label *l = label_new(LABEL_TASKS, 1, take, &sb);

        for (size_t at = 0; at < sizeof(text) - 1; at += cut)
            label_data(l, 0, text + at, cut < sizeof(text) - 1 - at ? cut : sizeof(text) - 1 - at);
        label_eof(l, 0);
        assert_string_equal(strbuf_str(&sb), "0: first\n0: \n0: third line\n0: last\n");
        label_free(l);
        strbuf_done(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw),       cmocka_unit_test(test_lines),
        cmocka_unit_test(test_labels),    cmocka_unit_test(test_width),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_pieces),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
