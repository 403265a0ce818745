/* test_yamlwalk.c - keys of a mapping, entries of a list, and the lines of what is wrong */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/yaml/yamlwalk.h"

static int add_word(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    if (!yamlwalk_text(v))
        return yamlwalk_wrong(w, v, "a word is expected here");
    strbuf_addf(to, "%s;", yamlwalk_text(v));
    return 0;
}

static int add_words(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    return yamlwalk_list(w, v, 3, add_word, to);
}

/* What the caller put in is there. */
static int add_context(struct yamlwalk *w, void *to, const yaml_node_t *v)
{
    (void)v;
    strbuf_addf(to, "%s;", (const char *)w->context);
    return 0;
}

static int walk_text(const char *text, size_t len, struct strbuf *to, struct err *err)
{
    static const struct yamlwalk_key keys[] = { { "word", add_word },
                                                { "words", add_words },
                                                { "mine", add_context } };
    static char mine[] = "own";
    struct yamldoc_fault fault;
    struct yamlwalk w = { .err = err, .context = mine };
    yaml_document_t doc;
    int r;

    assert_int_equal(yamldoc_load(text, len, &doc, &fault), 0);
    w.doc = &doc;
    r = yamlwalk_map(&w, yaml_document_get_root_node(&doc), keys, ARRAY_SIZE(keys), to);
    yaml_document_delete(&doc);
    return r;
}

static void test_order(void **state)
{
    static const char text[] = "words: [c, a, b]\nmine:\nword: d\n";
    _cleanup_val_(strbuf_done) struct strbuf seen = STRBUF_INIT;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(walk_text(text, strlen(text), &seen, &err), 0);
    assert_string_equal(strbuf_str(&seen), "c;a;b;own;d;");
    assert_string_equal(err.text, "");
}

static void test_wrong(void **state)
{
    static const struct {
        const char *text, *words;
        int rc;
    } cases[] = {
        { "- a\n", "line 1: a mapping (key: value) is expected here", -EINVAL },
        { "word: a\nwrod: b\n", "line 2: unknown key \"wrod\"", -EINVAL },
        { "? [word]\n: b\n", "line 1: unknown key \"\"", -EINVAL },
        { "\"word\\0\": b\n", "line 1: unknown key \"\"", -EINVAL },
        { "word: a\nmine: 1\nword: b\n", "line 3: the key word stands twice", -EINVAL },
        { "words: a\n", "line 1: a list is expected here", -EINVAL },
        { "words: [a, b, c, d]\n", "line 1: the list has more than 3 entries", -E2BIG },
        { "words:\n- a\n- [b]\n- c\n", "line 3: a word is expected here", -EINVAL },
        { "word: \"a\\0b\"\n", "line 1: a word is expected here", -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf seen = STRBUF_INIT;
        struct err err = { .text = "" };

        assert_int_equal(walk_text(cases[i].text, strlen(cases[i].text), &seen, &err), cases[i].rc);
        assert_string_equal(err.text, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_wrong),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
