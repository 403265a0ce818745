/* test_fmt.c - output formats: parsing, widths, sort keys, lines */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/fmt_core.h"
#include "job.pb-c.h"

struct fake {
    const char *name;
    int64_t number;
};

static void get_name(struct strbuf *sb, const void *row)
{
    strbuf_add(sb, ((const struct fake *)row)->name);
}

static void get_number(struct strbuf *sb, const void *row)
{
    strbuf_addf(sb, "%lld", (long long)((const struct fake *)row)->number);
}

static int64_t num_number(const void *row)
{
    return ((const struct fake *)row)->number;
}

static const struct fmt_field fields[] = {
    { 'j', false, "Name", "NAME", get_name, NULL, "name", 0 },
    { 'C', false, "Number", "NUMBER", get_number, num_number, "job_id priority", 0 },
    { 'h', true, "Hidden", "HIDDEN", get_name, NULL, NULL, 0 },
    { 'w', false, "Whole", "WHOLE", get_name, NULL, NULL, .uncut = true },
};
static const struct fmt_table table = { fields, ARRAY_SIZE(fields), "test" };

struct bad {
    int n;
    char last[64];
};

static void on_bad(void *ctx, const char *spec)
{
    struct bad *b = ctx;

    b->n++;
    (void)snprintf(b->last, sizeof(b->last), "%s", spec);
}

static void check(const char *spec, bool is_long, const char *header, const char *line,
                  int bad_count)
{
    struct fmt f = FMT_INIT;
    struct bad bad = { 0 };
    const struct fake row = { "abcdef", 42 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    if (is_long)
        assert_int_equal(fmt_parse_long(&f, &table, spec, on_bad, &bad), 0);
    else
        assert_int_equal(fmt_parse_short(&f, &table, spec, on_bad, &bad), 0);
    assert_int_equal(bad.n, bad_count);
    fmt_header(&f, &sb);
    assert_string_equal(strbuf_str(&sb), header);
    strbuf_reset(&sb);
    fmt_row(&f, &row, &sb);
    assert_string_equal(strbuf_str(&sb), line);
    fmt_done(&f);
}

static void test_short(void **state)
{
    (void)state;
    check("%j", false, "NAME\n", "abcdef\n", 0);
    check("%3w|%.3w|", false, "WHO|WHO|\n", "abcdef|abcdef|\n", 0);
    check("Whole:3,Whole:.3", true, "WHOWHO\n", "abcabcdef\n", 0); /* left of the two is cut */
    check("%.8j|", false, "    NAME|\n", "  abcdef|\n", 0);
    check("%8j|", false, "NAME    |\n", "abcdef  |\n", 0);
    check("%.3j %C", false, "NAM NUMBER\n", "abc 42\n", 0);
    check("[%C]", false, "[NUMBER]\n", "[42]\n", 0);
    check("plain", false, "plain\n", "plain\n", 0);
    check("%C9", false, "NUMBER9\n", "429\n", 0);
    check("%j|%-8u|%C;", false, "NAME|%-8u|NUMBER;\n", "abcdef|%-8u|42;\n", 1);
    check("%j%", false, "NAME\n", "abcdef\n", 0);
    check("%", false, "\n", "\n", 0);
    check("%%", false, "\n", "\n", 0);
    check("", false, "\n", "\n", 0);
}

static void test_all(void **state)
{
    (void)state;
    check("%all", false, "HIDDEN|NAME|WHOLE|NUMBER\n", "abcdef|abcdef|abcdef|42\n", 0);
}

static void test_long(void **state)
{
    (void)state;
    check("name", true, "NAME                \n", "abcdef              \n", 0);
    check("NAME:4,number:.4:;", true, "NAMENUMB:;\n", "abcd  42:;\n", 0);
    check("name:8,nosuch,number:3", true, "NAME    NUM\n", "abcdef  42 \n", 1);
    check("name:|,number:###", true, "NAME|NUMBER###\n", "abcdef|42###\n", 0);
    check("nosuch", true, "\n", "\n", 1);
    check("name:8,,number:3", true, "NAME    NUM\n", "abcdef  42 \n", 0);
    check("name:0x", true, "NAMEx\n", "abcdefx\n", 0);
    check("name:##,number:\x1f,", true, "NAME##NUMBER\x1f\n", "abcdef##42\x1f\n", 0);
}

static void test_huge_width(void **state)
{
    struct fmt f = FMT_INIT;
    struct bad bad = { 0 };

    (void)state;
    assert_int_equal(fmt_parse_short(&f, &table, "%99999999999999999999j", on_bad, &bad), 0);
    assert_int_equal(f.n, 1);
    assert_true(f.cols[0].width <= 10 * FMT_WIDTH_MAX);
    fmt_done(&f);
}

static void test_fit(void **state)
{
    struct fmt f = FMT_INIT;
    struct bad bad = { 0 };
    const struct fake row = { "abcdef", 42 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    assert_int_equal(fmt_parse_short(&f, &table, "%.#j|%#C", on_bad, &bad), 0);
    assert_true(f.cols[0].fit && f.cols[0].right && f.cols[1].fit);
    fmt_fit(&f, &row, &sb);
    assert_int_equal(f.cols[0].width, 6);
    assert_int_equal(f.cols[1].width, 2);
    assert_int_equal(sb.len, 0);
    fmt_done(&f);
}

static void test_needs(void **state)
{
    struct fmt f = FMT_INIT;
    struct bad bad = { 0 };
    struct pb_fieldset set = { 0 };

    (void)state;
    assert_int_equal(fmt_parse_short(&f, &table, "%j %C", on_bad, &bad), 0);
    fmt_needs(&f, &pst__job_record__descriptor, &set);
    assert_true(set.bits[0] == (1u << 9 | 1u << 1 | UINT64_C(1) << 37));
    fmt_done(&f);
}

/* Keys too wide for one number sort the same. */
static void check_wide_keys(void)
{
    static const struct fake rows[] = {
        { "b", INT64_MIN }, { "a", INT64_MAX }, { "a", INT64_MIN }, { "b", 0 }
    };
    struct fmt f = FMT_INIT;
    struct fmt_sort sort;
    struct fmt_lines *lines = NULL;
    struct bad bad = { 0 };
    char wrong = 0;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    assert_int_equal(fmt_parse_short(&f, &table, "%j%.3C ", on_bad, &bad), 0);
    assert_int_equal(fmt_sort_parse(&sort, &table, "-j,C", &wrong), 0);
    assert_int_equal(fmt_lines_new(&sort, &lines), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        fmt_row(&f, &rows[i], &sb);
        assert_int_equal(fmt_lines_add(lines, &sb, 0, &rows[i], i), 0);
    }
    assert_int_equal(fmt_lines_flush(lines, &sb), 0);
    assert_string_equal(strbuf_str(&sb), "b-92 \nb  0 \na-92 \na922 \n");
    lines = fmt_lines_free(lines);
    fmt_done(&f);
}

static void test_sort(void **state)
{
    static const struct fake rows[] = {
        { "b", 1 }, { "a", 2 }, { "b", 3 }, { "a", 4 }, { "c", 0 }
    };
    struct fmt f = FMT_INIT;
    struct fmt_sort sort;
    struct fmt_lines *lines = NULL;
    struct bad bad = { 0 };
    char wrong = 0;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    assert_int_equal(fmt_parse_short(&f, &table, "%j%C", on_bad, &bad), 0);
    assert_int_equal(fmt_sort_parse(&sort, &table, "j,-C", &wrong), 0);
    assert_int_equal(sort.n, 2);
    assert_int_equal(fmt_lines_new(&sort, &lines), 0);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        fmt_row(&f, &rows[i], &sb);
        assert_int_equal(fmt_lines_add(lines, &sb, 0, &rows[i], i), 0);
        assert_int_equal(sb.len, 0);
    }
    assert_int_equal(fmt_lines_flush(lines, &sb), 0);
    assert_string_equal(strbuf_str(&sb), "a4\na2\nb3\nb1\nc0\n");
    lines = fmt_lines_free(lines);
    fmt_done(&f);

    check_wide_keys();
    assert_int_equal(fmt_sort_parse(&sort, &table, "nosuch", &wrong), -EINVAL);
    assert_int_equal(wrong, 'n');
    assert_int_equal(fmt_sort_parse(&sort, &table, "", &wrong), 0);
    assert_int_equal(sort.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),      cmocka_unit_test(test_all), cmocka_unit_test(test_long),
        cmocka_unit_test(test_huge_width), cmocka_unit_test(test_fit), cmocka_unit_test(test_needs),
        cmocka_unit_test(test_sort),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
