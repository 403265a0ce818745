/* test_strbuf.c - growth, formatting, failure and hand-over of strbuf */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

static void test_empty(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    (void)state;
    assert_string_equal(strbuf_str(&sb), "");
    assert_int_equal(strbuf_detach(&sb, &text), 0);
    assert_string_equal(text, "");
    free(text);
    strbuf_done(&sb);
    strbuf_done(&sb);
}

static void test_pieces(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    strbuf_add(&sb, "ab");
    strbuf_addc(&sb, 'c');
    strbuf_addn(&sb, "def-not-this", 3);
    strbuf_addf(&sb, "%d:%s", 42, "x");
    strbuf_pad(&sb, ' ', 2);
    strbuf_pad(&sb, ' ', 0);
    strbuf_addn(&sb, NULL, 0);
    assert_string_equal(strbuf_str(&sb), "abcdef42:x  ");
    assert_int_equal(sb.len, 12);
    strbuf_reset(&sb);
    assert_string_equal(strbuf_str(&sb), "");
    strbuf_add(&sb, "again");
    assert_string_equal(strbuf_str(&sb), "again");
}

/* Every length around the points where the buffer grows, in one piece and formatted. */
static void test_growth(void **state)
{
    char text[1024];

    (void)state;
    for (size_t n = 0; n < sizeof(text); n++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

        memset(text, 'x', n);
        text[n] = '\0';
        strbuf_addf(&sb, "%s", text);
        assert_int_equal(sb.len, n);
        assert_string_equal(strbuf_str(&sb), text);
        strbuf_addc(&sb, 'y');
        strbuf_addf(&sb, "<%s>", text);
        assert_int_equal(sb.len, 2 * n + 3);
        assert_int_equal(strlen(strbuf_str(&sb)), sb.len);
        assert_true(sb.cap > sb.len);
    }
}

/* A size no allocator gives: the buffer says so once, at the end, and is usable again
 * afterwards. */
static void test_failure(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    (void)state;
    strbuf_add(&sb, "kept");
    strbuf_pad(&sb, 'x', SIZE_MAX / 2);
    assert_true(sb.failed);
    strbuf_add(&sb, "ignored");
    strbuf_addf(&sb, "%d", 1);
    assert_string_equal(strbuf_str(&sb), "kept");
    assert_int_equal(strbuf_detach(&sb, &text), -ENOMEM);
    assert_null(text);
    strbuf_add(&sb, "new");
    assert_int_equal(strbuf_detach(&sb, &text), 0);
    assert_string_equal(text, "new");
    free(text);
}

static void test_embedded_nul(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    strbuf_addn(&sb, "a\0b", 3);
    strbuf_addc(&sb, '\0');
    assert_int_equal(sb.len, 4);
    assert_memory_equal(sb.buf, "a\0b\0", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_growth),       cmocka_unit_test(test_failure),
        cmocka_unit_test(test_embedded_nul),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
