/* test_restgzip.c - packed bodies and answers, and tags */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "rest/restfresh.h"
#include "rest/restgzip.h"

#define PLAIN_BYTES 300000u

static void fill_text(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i * i % 23);
}

struct source {
    const char *data;
    size_t len, at, step;
    int result; /* at its end */
};

static ssize_t read_source(void *ctx, char *buf, size_t size)
{
    struct source *s = ctx;
    size_t n = MIN(MIN(size, s->step), s->len - s->at);

    if (!n)
        return s->result;
    memcpy(buf, s->data + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

/* However small the pieces in and out. */
static void test_stream(void **state)
{
    static const size_t steps[] = { 1, 7, 4096, PLAIN_BYTES }, sizes[] = { 1, 100, 65536 };
    char *text = malloc(PLAIN_BYTES), *buf = malloc(65536);

    assert_true(text && buf);
    fill_text(text, PLAIN_BYTES);
    for (size_t i = 0; i < ARRAY_SIZE(steps) * ARRAY_SIZE(sizes); i++) {
        struct source s = { .data = text,
                            .len = PLAIN_BYTES,
                            .step = steps[i % ARRAY_SIZE(steps)] };
        struct strbuf packed = STRBUF_INIT, plain = STRBUF_INIT;
        struct restgzip *gz = NULL;
        ssize_t n;

        assert_int_equal(restgzip_new(read_source, &s, &gz), 0);
        while ((n = restgzip_read(gz, buf, sizes[i / ARRAY_SIZE(steps)])) > 0)
            strbuf_addn(&packed, buf, (size_t)n);
        assert_int_equal(n, 0);
        gz = restgzip_free(gz);
        assert_int_equal(restgzip_unpack(packed.buf, packed.len, PLAIN_BYTES, &plain), 0);
        assert_int_equal(plain.len, PLAIN_BYTES);
        assert_memory_equal(plain.buf, text, PLAIN_BYTES);
        strbuf_done(&packed);
        strbuf_done(&plain);
    }
    free(text);
    free(buf);
}

/* An answer that broke off does not look whole. */
static void test_broken_source(void **state)
{
    struct source s = { .data = "abc", .len = 3, .step = 1, .result = -EPIPE };
    struct restgzip *gz = NULL;
    char buf[100];
    ssize_t n;

    assert_int_equal(restgzip_new(read_source, &s, &gz), 0);
    while ((n = restgzip_read(gz, buf, sizeof(buf))) > 0)
        continue;
    assert_int_equal(n, -EPIPE);
    assert_null(restgzip_free(gz));
}

static void test_limits(void **state)
{
    struct strbuf packed = STRBUF_INIT, plain = STRBUF_INIT;
    char *text = calloc(1, PLAIN_BYTES);

    assert_int_equal(restgzip_pack(text, PLAIN_BYTES, &packed), 0);
    assert_true(packed.len < 5000);
    assert_int_equal(restgzip_unpack(packed.buf, packed.len, PLAIN_BYTES - 1, &plain), -EFBIG);
    assert_int_equal(plain.len, 0);
    assert_int_equal(restgzip_unpack(packed.buf, packed.len, PLAIN_BYTES, &plain), 0);
    strbuf_done(&plain);
    for (size_t cut = 0; cut < packed.len; cut++) {
        assert_int_equal(restgzip_unpack(packed.buf, cut, PLAIN_BYTES, &plain), -EBADMSG);
        assert_null(plain.buf);
    }
    strbuf_addc(&packed, 'x');
    assert_int_equal(restgzip_unpack(packed.buf, packed.len, PLAIN_BYTES, &plain), -EBADMSG);
    strbuf_done(&packed);
    free(text);
}

static void test_accepted(void **state)
{
    assert_true(restgzip_accepted("gzip"));
    assert_true(restgzip_accepted(" deflate ,\tGZip ; q=0.001"));
    assert_true(restgzip_accepted("br, *;q=0.1"));
    assert_false(restgzip_accepted(NULL));
    assert_false(restgzip_accepted(",,;;q=,"));
    assert_false(restgzip_accepted("*, gzip;q=0"));
    assert_false(restgzip_accepted("gzip ;q=0.0"));
}

static void test_tags(void **state)
{
    char tag[RESTFRESH_TAG];

    restfresh_tag(0x1f, tag);
    assert_string_equal(tag, "W/\"000000000000001f\"");
    assert_int_equal(restfresh_first(tag), 0x1f);
    restfresh_tag(UINT64_MAX, tag);
    assert_true(restfresh_first(tag) == UINT64_MAX);
    assert_true(restfresh_names("\"x\", W/\"000000000000001f\" , \"0000000000000020\"", 0x20));
    assert_false(restfresh_names("\"x\", W/\"000000000000001f\"", 0x20));
    assert_int_equal(restfresh_first(NULL), 0);
    assert_int_equal(restfresh_first("*"), 0);
    assert_int_equal(restfresh_first("W/\"000000000000001f"), 0);
    assert_int_equal(restfresh_first("\"00000000000000001f\""), 0);
    assert_int_equal(restfresh_first("\"000000000000001F\""), 0);
    assert_int_equal(restfresh_first("\"\"\"\""), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream), cmocka_unit_test(test_broken_source),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_tags),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
