/* test_extra.c - requests about the Extra of nodes: what parses, and which nodes satisfy them.
 *
 * Requests, nodes and answers of the first tables are those of Slurm's page "Extra Constraints". */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/base/extra.h"

static const char node[] = "{ \"a\": 1.23, \"b\": true, \"c\": 0, \"foo\": \"bar\", \"zed\": 23 }";

struct case_row {
    const char *text;
    bool holds;
};

static void check_rows(const char *data, const struct case_row *rows, size_t n)
{
    json_t *of_node = extra_data(data);

    for (size_t i = 0; i < n; i++) {
        _cleanup_(extra_free) struct extra_request *q = NULL;
        struct err err = { .text = "" };

        if (extra_parse(rows[i].text, &q, &err) < 0)
            fail_msg("%s: %s", rows[i].text, err.text);
        if (extra_admits(q, of_node) != rows[i].holds)
            fail_msg("%s is %d", rows[i].text, !rows[i].holds);
    }
    json_decref(of_node);
}

static void test_published(void **state)
{
    static const struct case_row rows[] = {
        { "a=1.23", true },
        { "a!=1.24", true },
        { "a!=1.24|foo!=blah", true },
        { "b=200", true },
        { "b=true", true },
        { "foo<baz", true },
        { "(c<=0.0001&a=1.25)|zed=23.0", true },
        { "((c<=0.0001&a=1.25)|zed=23.0)&(a<1|b=false|c>=0.00000001)", true },
        { "((c<=0.0001&a=1.25)|zed=23.0)&(a<1|b=true|c>=0.1)", true },
        { "a!=1.23", false },
        { "b=0", false },
        { "b=false", false },
        { "foo>baz", false },
        { "((c<=0.0001&a=1.25)|zed=23.0)&(a<1|b=false|c>=0.0001)", false },
    };

    (void)state;
    check_rows(node, rows, ARRAY_SIZE(rows));
}

static void test_own(void **state)
{
    static const struct case_row rows[] = {
        { "a>=1.23", true },
        { "a<=1.23", true },
        { "a>1.23", false },
        { "a<1.23", false },
        { "a=1.230009", true },
        { "a=1.2302", false },
        { "a=1.23x", false }, /* no number */
        { "a!=1.23x", true },
        { "a<1.23x", false },
        { "a=0x1", false },
        { "a=inf", false },
        { "b=maybe", false },
        { "b!=maybe", true },
        { "b>false", true },
        { "b=TRUE", true },
        { "foo=\"bar\"", false }, /* quotes are part of it */
        { "foo=bar ", false },
        { " foo=bar", false },
        { "foo=BAR", false },
        { "zed=23,foo=bar", true },
        { "zed=23,foo=bar&a=1.23", true }, /* both signs say the same */
        { "zed=23,foo=baz", false },
        { "none=1", false },
        { "none!=1", false },
        { "(((zed=23)))", true },
        { "l=1", false },
        { "l!=1", true }, /* a list is no value */
    };
    static const struct case_row none[] = { { "a=1", false }, { "a!=1", false } };

    (void)state;
    check_rows("{ \"a\": 1.23, \"b\": true, \"foo\": \"bar\", \"zed\": 23, \"l\": [1] }", rows,
               ARRAY_SIZE(rows));
    check_rows(NULL, none, ARRAY_SIZE(none));
    check_rows("", none, ARRAY_SIZE(none));
    check_rows("free text", none, ARRAY_SIZE(none));
    check_rows("[1]", none, ARRAY_SIZE(none));
}

static void test_bad(void **state)
{
    static const char *const bad[] = {
        "",
        "a",
        "a=",
        "=1",
        "a,<=6",
        "a<=6<=",
        "a=5&&&b=5",
        "a=5|||b=5",
        "a====5",
        "b<=<=5",
        "a=5&()",
        "()",
        "a=5&b=5|c=5",
        "(a=1)&(b=2)|(c=3)",
        "a=1(b=2)",
        "(a=1)(b=2)",
        "(((a=1)b=2))",
        " (a=b)",
        "(a=1",
        "a=1)",
        "a=1&",
        "a=1|",
        "&a=1",
        "a!1",
        "!a=1",
        "a==1",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct extra_request *q = NULL;
        struct err err = { .text = "" };

        if (extra_parse(bad[i], &q, &err) != -EINVAL || q || !strstr(err.text, "at column"))
            fail_msg("'%s': %s", bad[i], err.text);
    }
}

static void test_limits(void **state)
{
    static const struct {
        const char *open, *middle, *more, *close;
        size_t n;
        int rc;
    } rows[] = {
        { "(", "a=1", "", ")", EXTRA_DEPTH_MAX, 0 },
        { "(", "a=1", "", ")", EXTRA_DEPTH_MAX + 1, -E2BIG },
        { "", "a=1", "&a=1", "", EXTRA_ITEMS_MAX - 2, 0 },
        { "", "a=1", "&a=1", "", EXTRA_ITEMS_MAX - 1, -E2BIG },
        { "", "a=1", "1", "", EXTRA_TEXT_MAX - 3, 0 },
        { "", "a=1", "1", "", EXTRA_TEXT_MAX - 2, -E2BIG },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        _cleanup_(extra_free) struct extra_request *q = NULL;

        for (size_t k = 0; k < rows[i].n; k++)
            strbuf_add(&sb, rows[i].open);
        strbuf_add(&sb, rows[i].middle);
        for (size_t k = 0; k < rows[i].n; k++)
            strbuf_add(&sb, rows[i].more);
        for (size_t k = 0; k < rows[i].n; k++)
            strbuf_add(&sb, rows[i].close);
        assert_int_equal(extra_parse(strbuf_str(&sb), &q, NULL), rows[i].rc);
    }
}

static void test_long_data(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        json_t *data;

        strbuf_add(&sb, "{ \"a\": 1 }");
        while (sb.len < EXTRA_DATA_MAX + more)
            strbuf_add(&sb, " ");
        data = extra_data(strbuf_str(&sb));
        assert_int_equal(data != NULL, !more);
        json_decref(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published), cmocka_unit_test(test_own),
        cmocka_unit_test(test_bad),       cmocka_unit_test(test_limits),
        cmocka_unit_test(test_long_data),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
