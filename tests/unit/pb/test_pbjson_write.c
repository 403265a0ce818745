/* test_pbjson_write.c - messages as JSON: bytes that are no text, numbers that JSON has not, and
 * values of newer releases */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acctop.pb-c.h"
#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "event.pb-c.h"
#include "job.pb-c.h"

static void expect_json(const ProtobufCMessage *msg, int indent, const char *want)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(pb_json_write(f, msg, indent), 0);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, want);
    free(text);
}

static void expect_quoted(const char *text, const char *want)
{
    char *got = NULL;
    size_t size;
    FILE *f = open_memstream(&got, &size);

    assert_non_null(f);
    pb_json_string(f, text);
    assert_int_equal(fclose(f), 0);
    assert_string_equal(got, want);
    free(got);
}

static void test_text(void **state)
{
    (void)state;
    expect_quoted("", "\"\"");
    expect_quoted("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    expect_quoted("\b\t\n\f\r\v\x01\x1f", "\"\\b\\t\\n\\f\\r\\u000b\\u0001\\u001f\"");
    expect_quoted("\x7f", "\"\\u007f\"");     /* no terminal obeys it */
    expect_quoted("\xc2\x9b", "\"\\u009b\""); /* nor CSI in one character */
    expect_quoted("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    /* bytes that are no UTF-8, each for itself: cut off, overlong, a surrogate, beyond the last */
    expect_quoted("a\xff"
                  "b",
                  "\"a\xef\xbf\xbd"
                  "b\"");
    expect_quoted("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_quoted("\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_quoted("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
    expect_quoted("\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void expect_real(double v, const char *want)
{
    Pst__ShareTres t = PST__SHARE_TRES__INIT;
    char text[64];

    t.has_used_s = true;
    t.used_s = v;
    (void)snprintf(text, sizeof(text), "{\"used_s\":%s}", want);
    expect_json(&t.base, -1, text);
}

static void test_reals(void **state)
{
    (void)state;
    expect_real(0, "0");
    expect_real(0.1, "0.1");
    expect_real(1.0 / 3, "0.3333333333333333");
    expect_real(-1e300, "-1e+300");
    expect_real(5e-324, "4.94065645841247e-324");
    expect_real(9007199254740993.0, "9007199254740992");
    expect_real(NAN, "null"); /* JSON has neither */
    expect_real(INFINITY, "null");
    expect_real(-INFINITY, "null");
}

static void test_integers(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    Pst__Rlimit limit = PST__RLIMIT__INIT, *limits = &limit;

    (void)state;
    limit.has_soft = true;
    limit.soft = UINT64_MAX;
    j.has_job_id = j.has_nice = j.has_submit_us = true;
    j.job_id = UINT32_MAX;
    j.nice = INT32_MIN;
    j.submit_us = INT64_MIN;
    j.rlimits = &limits;
    j.n_rlimits = 1;
    {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_int_equal(pb_json_write(f, &j.base, -1), 0);
        assert_int_equal(fclose(f), 0);
        assert_non_null(strstr(text, "\"job_id\":4294967295"));
        assert_non_null(strstr(text, "\"nice\":-2147483648"));
        assert_non_null(strstr(text, "\"submit_us\":-9223372036854775808"));
        assert_non_null(strstr(text, "\"rlimits\":[{\"soft\":18446744073709551615}]"));
        free(text);
    }
}

/* A state that this release does not know is its number. */
static void test_unknown_word(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    (void)state;
    j.has_state = true;
    j.state = PST__JOB_STATE__JOB_RUNNING;
    expect_json(&j.base, -1, "{\"state\":\"JOB_RUNNING\"}");
    j.state = (Pst__JobState)9999;
    expect_json(&j.base, -1, "{\"state\":9999}");
}

static void test_bytes(void **state)
{
    static const struct {
        const char *data;
        size_t len;
        const char *text;
    } rows[] = {
        { "", 0, "" },        { "\0", 1, "AA==" },           { "\xff\xff", 2, "//8=" },
        { "abc", 3, "YWJj" }, { "\0\0\0\0", 4, "AAAAAA==" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Pst__Blob b = PST__BLOB__INIT;
        char want[64];

        b.has_data = true;
        b.data = (ProtobufCBinaryData){ rows[i].len, (uint8_t *)rows[i].data };
        (void)snprintf(want, sizeof(want), "{\"data\":\"%s\"}", rows[i].text);
        expect_json(&b.base, -1, want);
    }
}

static void test_form(void **state)
{
    Pst__JobFilter f = PST__JOB_FILTER__INIT;
    uint32_t ids[] = { 1, 2 };

    (void)state;
    expect_json(&f.base, -1, "{}");
    expect_json(&f.base, 2, "{}");
    f.job_ids = ids;
    f.n_job_ids = 2;
    expect_json(&f.base, -1, "{\"job_ids\":[1,2]}");
    expect_json(&f.base, 2, "{\n  \"job_ids\": [\n    1,\n    2\n  ]\n}");
    expect_json(&f.base, 0, "{\n\"job_ids\": [\n1,\n2\n]\n}");
}

static void test_full_disk(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    FILE *f = fopen("/dev/full", "we");

    (void)state;
    assert_non_null(f);
    setbuf(f, NULL); /* else the error comes with fclose() */
    assert_int_equal(pb_json_write(f, &j.base, -1), -EIO);
    (void)fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),      cmocka_unit_test(test_reals),
        cmocka_unit_test(test_integers),  cmocka_unit_test(test_unknown_word),
        cmocka_unit_test(test_bytes),     cmocka_unit_test(test_form),
        cmocka_unit_test(test_full_disk),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
