/* test_yamljson.c - YAML as JSON's tree, and what is refused */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/yaml/yamljson.h"

static void test_values(void **state)
{
    static const char *const cases[][2] = {
        { "", "{}" },
        { "# nothing\n", "{}" },
        { "a: 1\nb: -7\nc: '1'\nd: \"true\"", "{\"a\":1,\"b\":-7,\"c\":\"1\",\"d\":\"true\"}" },
        { "[true, False, ~, null, text]", "[true,false,null,null,\"text\"]" },
        { "[TRUE, yes, 1.5, 0x10, 007b]", "[true,\"yes\",\"1.5\",\"0x10\",\"007b\"]" },
        { "a: &x [1]\nb: *x", "{\"a\":[1],\"b\":[1]}" },
        { "a: {b: {c: []}}", "{\"a\":{\"b\":{\"c\":[]}}}" },
        { "one\n---\ntwo\n", "\"one\"" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        json_t *value = NULL;
        char *text;

        assert_int_equal(yamljson_parse(cases[i][0], strlen(cases[i][0]), &value, &err), 0);
        assert_string_equal(err.text, "");
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        assert_string_equal(text, cases[i][1]);
        free(text);
        json_decref(value);
    }
}

static void refuse_text(const char *text, size_t len, const char *words)
{
    struct err err = { .text = "" };
    json_t *value = NULL;

    assert_int_equal(yamljson_parse(text, len, &value, &err), -EINVAL);
    assert_null(value);
    assert_string_equal(err.text, words);
}

static void test_refused(void **state)
{
    (void)state;
    refuse_text("a: 1\nb: 2\na: 3\n", 15, "line 3: a key that stands twice");
    refuse_text("? [1]\n: 2\n", 10, "line 1: a key that is no text");
    refuse_text("\"a\\0b\": 1", 9, "line 1: a key with a NUL byte");
    refuse_text("a: \"x\\0y\"", 9, "line 1: a text with a NUL byte");
}

/* A value may lie in YAMLJSON_DEPTH lists: with its own they are one more. */
static void test_depth(void **state)
{
    char deep[2 * YAMLJSON_DEPTH + 4];
    struct err err = { .text = "" };

    (void)state;
    for (size_t n = YAMLJSON_DEPTH; n <= YAMLJSON_DEPTH + 2; n++) {
        json_t *value = NULL;

        memset(deep, '[', n);
        memset(deep + n, ']', n);
        assert_int_equal(yamljson_parse(deep, 2 * n, &value, &err),
                         n <= YAMLJSON_DEPTH + 1 ? 0 : -EINVAL);
        json_decref(value);
    }
}

/* Nine aliases of nine aliases and so on would be more values than memory holds. */
static void test_aliases(void **state)
{
    static const char bomb[] = "a: &a [1,1,1,1,1,1,1,1,1]\n"
                               "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                               "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                               "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                               "f: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";

    (void)state;
    refuse_text(bomb, sizeof(bomb) - 1, "line 1: too deep, or too many values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_aliases),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
