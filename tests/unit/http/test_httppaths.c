/* test_httppaths.c - tables of paths and what callers read of them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "http/httppaths.h"

static unsigned answer_none(void *ctx, const struct http_request *r, struct strbuf *body,
                            struct err *err)
{
    return HTTP_NO_CONTENT;
}

static const struct http_path paths[] = {
    { .path = "/", .title = "index of endpoints" },
    { .path = "/livez", .listed = "/", .words = "check it is running", .answer = answer_none },
    { .path = "/hidden", .answer = answer_none },
    { 0 },
};

static void test_find(void **state)
{
    assert_ptr_equal(httppaths_find(paths, "/"), &paths[0]);
    assert_ptr_equal(httppaths_find(paths, "/livez"), &paths[1]);
    assert_null(httppaths_find(paths, "/livez/"));
    assert_null(httppaths_find(paths, "/Livez"));
    assert_null(httppaths_find(paths, "//livez"));
    assert_null(httppaths_find(paths, ""));
}

static void test_index(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    httppaths_list(paths, &paths[0], "slurmd", &sb);
    assert_string_equal(strbuf_str(&sb),
                        "slurmd index of endpoints:\n  '/livez': check it is running\n");
    strbuf_done(&sb);
}

/* As recording 31 has it. */
static void test_refusal(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    httppaths_refuse("slurmctld", "GET", "/nosuch", "Invalid or unknown URL path", &sb);
    assert_string_equal(strbuf_str(&sb), "slurmctld HTTP server request for 'GET /nosuch':\n"
                                         "Failed: Invalid or unknown URL path\n");
    strbuf_done(&sb);
}

/* Nothing of a caller's bytes ends a line, a quote or the answer. */
static void test_hostile_path(void **state)
{
    struct strbuf sb = STRBUF_INIT;
    char path[5000];

    httppaths_refuse("slurmctld", "G\nT", "/a\r\nSet-Cookie: x\x1b[2J\xff", "no", &sb);
    assert_string_equal(strbuf_str(&sb),
                        "slurmctld HTTP server request for 'G?T /a??Set-Cookie: x?[2J?':\n"
                        "Failed: no\n");
    strbuf_done(&sb);
    memset(path, 'a', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    httppaths_refuse("slurmctld", "GET", path, "no", &sb);
    assert_true(sb.len < 1200);
    strbuf_done(&sb);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_hostile_path),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
