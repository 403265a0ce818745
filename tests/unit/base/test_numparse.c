/* test_numparse.c - whole-string integers and sizes from people */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

static void test_unsigned(void **state)
{
    static const struct {
        const char *text;
        int r;
        uint64_t value;
    } cases[] = {
        { "0", 0, 0 },
        { "007", 0, 7 },
        { "18446744073709551615", 0, UINT64_MAX },
        { "18446744073709551616", -ERANGE, 0 },
        { "99999999999999999999999999", -ERANGE, 0 },
        { "99999999999999999999999999x", -EINVAL, 0 }, /* what is no number is said first */
        { NULL, -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { " 1", -EINVAL, 0 },
        { "1 ", -EINVAL, 0 },
        { "+1", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "0x10", -EINVAL, 0 },
        { "1e3", -EINVAL, 0 },
        { "\xd9\xa1", -EINVAL, 0 }, /* a digit of another script */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint64_t got = 42;

        assert_int_equal(parse_u64(cases[i].text, 0, UINT64_MAX, &got), cases[i].r);
        assert_true(got == (cases[i].r ? 42 : cases[i].value));
    }
    {
        uint64_t got = 42;

        assert_int_equal(parse_u64("4", 5, 9, &got), -ERANGE);
        assert_int_equal(parse_u64("10", 5, 9, &got), -ERANGE);
        assert_true(got == 42);
        assert_int_equal(parse_u64("5", 5, 9, &got), 0);
        assert_int_equal(parse_u64("9", 5, 9, &got), 0);
    }
}

static void test_signed(void **state)
{
    static const struct {
        const char *text;
        int r;
        int64_t value;
    } cases[] = {
        { "-0", 0, 0 },
        { "+5", 0, 5 },
        { "9223372036854775807", 0, INT64_MAX },
        { "9223372036854775808", -ERANGE, 0 },
        { "-9223372036854775808", 0, INT64_MIN },
        { "-9223372036854775809", -ERANGE, 0 },
        { "-18446744073709551616", -ERANGE, 0 },
        { NULL, -EINVAL, 0 },
        { "-", -EINVAL, 0 },
        { "--1", -EINVAL, 0 },
        { "+-1", -EINVAL, 0 },
        { "- 1", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t got = 42;

        assert_int_equal(parse_i64(cases[i].text, INT64_MIN, INT64_MAX, &got), cases[i].r);
        assert_true(got == (cases[i].r ? 42 : cases[i].value));
    }
    {
        int64_t got;

        assert_int_equal(parse_i64("-3", -2, 2, &got), -ERANGE);
        assert_int_equal(parse_i64("3", -2, 2, &got), -ERANGE);
        assert_int_equal(parse_i64("-2", -2, 2, &got), 0);
        assert_true(got == -2);
    }
}

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        int r;
        uint64_t mib;
    } cases[] = {
        { "100", 0, 100 },
        { "100M", 0, 100 },
        { "100mb", 0, 100 },
        { "1K", 0, 1 }, /* up to the next one */
        { "1024K", 0, 1 },
        { "1025k", 0, 2 },
        { "0K", 0, 0 },
        { "2G", 0, 2048 },
        { "1T", 0, 1024 * 1024 },
        { "1P", 0, UINT64_C(1) << 30 },
        { "17179869183P", 0, UINT64_C(17179869183) << 30 },
        { "17179869184P", -ERANGE, 0 },
        { "18446744073709551615K", 0, UINT64_C(18014398509481984) },
        { "18446744073709551616", -ERANGE, 0 },
        { "1E", -EINVAL, 0 },
        { "1MM", -EINVAL, 0 },
        { "1B", -EINVAL, 0 },
        { "1 M", -EINVAL, 0 },
        { "M", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { NULL, -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        uint64_t got = 42;

        assert_int_equal(size_mib_parse(cases[i].text, &got, &err), cases[i].r);
        assert_true(got == (cases[i].r ? 42 : cases[i].mib));
        assert_int_equal(err.text[0] != '\0', cases[i].r != 0);
    }
}

static void test_counts(void **state)
{
    struct err err = { .text = "" };
    uint64_t got = 42;

    (void)state;
    assert_int_equal(size_count_parse("3k", &got, &err), 0);
    assert_true(got == 3072);
    assert_int_equal(size_count_parse("0", &got, &err), 0);
    assert_true(got == 0);
    assert_int_equal(size_count_parse("16383P", &got, &err), 0);
    assert_int_equal(size_count_parse("16384P", &got, &err), -ERANGE);
    assert_string_equal(err.text, "count '16384P' is too large");
    assert_int_equal(size_count_parse("3kb", &got, &err), -EINVAL);
    assert_int_equal(size_count_parse("k", &got, &err), -EINVAL);
    assert_int_equal(size_count_parse(NULL, &got, &err), -EINVAL);
}

/* What is written reads back as the same size. */
static void test_shown(void **state)
{
    static const struct {
        uint64_t mib;
        const char *text;
    } cases[] = {
        { 0, "0M" },       { 1023, "1023M" }, { 1024, "1G" },     { 1025, "1025M" },
        { 1536, "1.50G" }, { 1537, "1537M" }, { 1048576, "1T" },  { 1572864, "1.50T" },
        { 2560, "2.50G" }, { 1280, "1280M" }, { 1u << 30, "1P" },
    };
    char text[32];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_mib_fmt(cases[i].mib, false, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
    }
    size_mib_fmt(UINT64_MAX, false, text, sizeof(text));
    assert_string_equal(text, "18446744073709551615M");
    size_mib_fmt(2048, true, text, sizeof(text));
    assert_string_equal(text, "2048M");
    size_mib_fmt(123456, true, text, 4); /* cut, with its end */
    assert_string_equal(text, "123");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unsigned), cmocka_unit_test(test_signed),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_counts),
        cmocka_unit_test(test_shown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
