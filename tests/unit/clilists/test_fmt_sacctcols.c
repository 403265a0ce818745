/* test_fmt_sacctcols.c - the columns of sacct and sstat: --format, headings, lines */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/format/fmt_sacct.h"

static void put_long(struct strbuf *sb, const struct sacct_row *r)
{
    (void)r;
    strbuf_add(sb, "abcdefghijkl");
}

/* A table of its own: one of each manner of a value that is too wide. */
static const struct sacct_field fields[] = {
    { "JobIDRaw", 12, put_long, SACCT_PLUS }, { "JobID", -12, put_long, SACCT_PLUS },
    { "Start", 5, put_long, SACCT_CUT },      { "Elapsed", 5, put_long, SACCT_WHOLE },
    { "StateReasons", 6, NULL, SACCT_PLUS },
};
static const struct sacct_table table = { fields, 5 };

static int parse_columns(struct sacct_fmt *f, const char *spec, struct err *err)
{
    *f = (struct sacct_fmt){ .table = &table, .delimiter = "|" };
    *err = (struct err){ .text = "" };
    return sacct_fmt_parse(f, spec, err);
}

static void expect_table(const char *spec, enum sacct_style style, const char *want)
{
    struct sacct_fmt f;
    struct strbuf sb = STRBUF_INIT;
    struct sacct_row row = { 0 };
    struct err err;

    assert_int_equal(parse_columns(&f, spec, &err), 0);
    f.style = style;
    sacct_fmt_header(&f, &sb);
    sacct_fmt_row(&f, &row, &sb);
    assert_string_equal(strbuf_str(&sb), want);
    strbuf_done(&sb);
    sacct_fmt_done(&f);
}

static void test_fixed(void **state)
{
    (void)state;
    expect_table("jobid,start,elapsed", SACCT_FIXED,
                 "JobID        Start Elaps \n"
                 "------------ ----- ----- \n"
                 "abcdefghijkl abcde abcdefghijkl \n");
    expect_table("jobid%5,jobidraw%-14,state", SACCT_FIXED,
                 "JobID JobIDRaw       StateR \n"
                 "----- -------------- ------ \n"
                 "abcd+ abcdefghijkl          \n");
    expect_table("jobid%0", SACCT_FIXED, " \n \n \n"); /* nothing but the blank behind it */
}

static void test_parsable(void **state)
{
    (void)state;
    expect_table("jobid%3,state,start", SACCT_PARSABLE,
                 "JobID|StateReasons|Start|\nabcdefghijkl||abcdefghijkl|\n");
    expect_table("jobid,state", SACCT_PARSABLE2, "JobID|StateReasons\nabcdefghijkl|\n");
}

/* The whole name goes before the beginning of another. */
static void test_names(void **state)
{
    struct sacct_fmt f;
    struct err err;

    (void)state;
    assert_int_equal(parse_columns(&f, "JOBIDRAW,jobid, sta,,jobidr", &err), 0);
    assert_int_equal(f.n, 4);
    assert_ptr_equal(f.cols[0].field, &fields[0]);
    assert_ptr_equal(f.cols[1].field, &fields[1]);
    assert_ptr_equal(f.cols[2].field, &fields[2]); /* the first that begins so */
    assert_ptr_equal(f.cols[3].field, &fields[0]);
    sacct_fmt_done(&f);
    assert_int_equal(parse_columns(&f, "all", &err), 0);
    assert_int_equal(f.n, 5);
    sacct_fmt_done(&f);
    assert_int_equal(parse_columns(&f, "jobid,nosuch", &err), -EINVAL);
    assert_string_equal(err.text, "Invalid field requested: \"nosuch\"");
    sacct_fmt_done(&f);
    assert_int_equal(parse_columns(&f, "%5", &err), -EINVAL);
    assert_string_equal(err.text, "Invalid field requested: \"\"");
    sacct_fmt_done(&f);
}

/* A width as far as it is a number; one that no line has room for is 0. */
static void test_widths(void **state)
{
    static const struct {
        const char *spec;
        int width;
    } rows[] = { { "jobid%7", 7 },
                 { "jobid%-7", -7 },
                 { "jobid%7x", 7 },
                 { "jobid%x", 0 },
                 { "jobid%10000", 10000 },
                 { "jobid%10001", 0 },
                 { "jobid%-99999999999999999999", 0 },
                 { "jobid", -12 } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sacct_fmt f;
        struct err err;

        assert_int_equal(parse_columns(&f, rows[i].spec, &err), 0);
        assert_int_equal(f.cols[0].width, rows[i].width);
        sacct_fmt_done(&f);
    }
}

/* Every name of sacct and sstat is found as itself. */
static void test_tables(void **state)
{
    static const struct sacct_table *const tables[] = { &sacct_table, &sstat_fields };

    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            struct sacct_fmt f = { .table = tables[t], .delimiter = "|" };
            struct err err = { .text = "" };

            assert_int_equal(sacct_fmt_parse(&f, tables[t]->fields[i].name, &err), 0);
            assert_ptr_equal(f.cols[0].field, &tables[t]->fields[i]);
            sacct_fmt_done(&f);
        }
}

static void test_help(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    sacct_fmt_help(&table, &sb);
    assert_string_equal(
        strbuf_str(&sb),
        "JobIDRaw            JobID               Start               Elapsed        "
        "    \nStateReasons       \n");
    strbuf_done(&sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),  cmocka_unit_test(test_parsable),
        cmocka_unit_test(test_names),  cmocka_unit_test(test_widths),
        cmocka_unit_test(test_tables), cmocka_unit_test(test_help),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
