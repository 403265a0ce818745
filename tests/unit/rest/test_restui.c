/* test_restui.c - the dashboard's files: names, tags, methods */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rest/restui.h"

static void test_find(void **state)
{
    const struct restui_file *index = restui_find("/ui/"), *script = restui_find("/ui/js/main.js");

    (void)state;
    assert_non_null(index);
    assert_string_equal(index->name, "index.html");
    assert_string_equal(index->type, "text/html; charset=utf-8");
    assert_int_equal(index->size, strlen(index->data));
    assert_ptr_equal(restui_find("/ui/index.html"), index);
    assert_non_null(script);
    assert_string_equal(script->type, "text/javascript; charset=utf-8");
    assert_null(restui_find("/ui"));
    assert_null(restui_find("/"));
    assert_null(restui_find(""));
    assert_null(restui_find("/ui/js"));
    assert_null(restui_find("/ui/js/"));
    assert_null(restui_find("/ui/../ui/index.html"));
    assert_null(restui_find("/ui//index.html"));
    assert_null(restui_find("/UI/"));
}

static void test_table(void **state)
{
    (void)state;
    for (const struct restui_file *file = restui_files; file->name; file++) {
        size_t len = strlen(file->etag);

        assert_true(file->size > 0);
        assert_true(len > 10 && file->etag[0] == '"' && file->etag[len - 1] == '"');
    }
}

static void test_tags(void **state)
{
    struct restui_file file = { .name = "a.js", .etag = "\"abc\"" };

    (void)state;
    assert_true(restui_is_known(&file, "\"abc\""));
    assert_true(restui_is_known(&file, "\"x\", \"abc\""));
    assert_true(restui_is_known(&file, "W/\"abc\" ,\"x\""));
    assert_true(restui_is_known(&file, "*"));
    assert_false(restui_is_known(&file, NULL));
    assert_false(restui_is_known(&file, ""));
    assert_false(restui_is_known(&file, "abc"));
    assert_false(restui_is_known(&file, "\"abcd\""));
    assert_false(restui_is_known(&file, "\"x\",,,"));
}

static void test_methods(void **state)
{
    (void)state;
    assert_true(restui_is("GET", "/ui"));
    assert_true(restui_is("HEAD", "/ui/"));
    assert_true(restui_is("GET", "/ui/style.css"));
    assert_false(restui_is("POST", "/ui/"));
    assert_false(restui_is("GET", "/ui/nosuch"));
    assert_false(restui_is("GET", "/uix"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_methods),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
