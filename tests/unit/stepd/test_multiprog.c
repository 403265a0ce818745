/* test_multiprog.c - the map of srun --multi-prog: whose line is taken, what its words become */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "stepd/step.h"

/* The words of a rank in one text, a bar behind each. */
static void expect_words(const char *map, uint32_t rank, const char *expected)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char **argv = NULL;

    assert_int_equal(multiprog_argv(map, rank, NULL, 0, &argv), 0);
    for (char **p = argv; *p; p++)
        strbuf_addf(&sb, "%s|", *p);
    assert_string_equal(strbuf_str(&sb), expected);
    argv = multiprog_free(argv);
}

static void expect_error(const char *map, uint32_t rank, int expected)
{
    char *none[] = { NULL }, **argv = none;

    assert_int_equal(multiprog_argv(map, rank, NULL, 0, &argv), expected);
    assert_ptr_equal(argv, none); /* written on success only */
}

static void test_ranks(void **state)
{
    static const char map[] = "# 0 comment\n"
                              "\n"
                              "   0,2-3 a\n"
                              "1 b\r\n"
                              "10-12,20 c\n"
                              "3 never\n"
                              "* d";

    (void)state;
    expect_words(map, 0, "a|");
    expect_words(map, 1, "b|");
    expect_words(map, 2, "a|");
    expect_words(map, 3, "a|"); /* the first line that has the rank */
    expect_words(map, 12, "c|");
    expect_words(map, 13, "d|");
    expect_words(map, 20, "c|");
    expect_words(map, 4000000000, "d|");
    expect_error("0-1 a\n3 b\n", 2, -ENOENT);
    expect_error("", 0, -ENOENT);
    expect_error("# 0 a\n", 0, -ENOENT);
    expect_error("0\n", 0, -ENOENT); /* a rank without a program */
}

static void test_mistakes(void **state)
{
    static const char *const wrong[] = {
        "a b\n",    "-1 a\n",  "3-1 a\n", "0- a\n",         "0-x a\n",          "0;1 a\n",
        "0,,1 a\n", "0,* a\n", "** a\n",  "4294967296 a\n", "1-4294967297 a\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        expect_error(wrong[i], 7, -EINVAL);
    expect_words("1 a\nx b\n", 1, "a|"); /* a mistake behind one's own line is not seen */
}

static void test_words(void **state)
{
    (void)state;
    /* %t is the rank, %o its place among the line's ranks. */
    expect_words("4-5,7-9 p %t %o\n", 8, "p|8|3|");
    expect_words("* p r%t-%o\n", 6, "p|r6-6|");
    expect_words("0 p 100%% %x %\n", 0, "p|100%%|%x|%|");
    /* Quotes keep blanks and percent signs, anywhere in a word. */
    expect_words("0 p 'a b' c'%t d'e '%o'\n", 0, "p|a b|c%t de|%o|");
    expect_words("0 p ''\n", 0, "p||");
    expect_error("0 p 'a b\n", 0, -EINVAL);
    /* Each blank more is an empty argument, but for those before the program and at the end. */
    expect_words("0   p  a\tb  \n", 0, "p||a|b|");
    /* A backslash at the end goes on with the next line, one elsewhere keeps what follows it. */
    expect_words("0 p a\\\nb c\n1 q\n", 0, "p|ab|c|");
    expect_words("* p a\\\\b \\$0 \\%t%t x\\ny a\\ b\n", 3, "p|a\\b|$0|%t3|xny|a b|");
    expect_words("0 p 'a\\b' \\'c d\\' e\\", 0, "p|a\\b|'c|d'|e|");
    expect_words("0 p a\\\\\n1 q\n", 0, "p|a\\|");
}

static void test_extra_words(void **state)
{
    char *extra[] = { (char *)"x y", (char *)"%t" };
    char **argv = NULL;

    (void)state;
    assert_int_equal(multiprog_argv("0 p a\n", 0, extra, 2, &argv), 0);
    assert_string_equal(argv[1], "a");
    assert_string_equal(argv[2], "x y");
    assert_string_equal(argv[3], "%t"); /* of srun's own words nothing is changed */
    assert_null(argv[4]);
    argv = multiprog_free(argv);
}

/* The text is a user's and may be of any length: too many words are a mistake. */
static void test_limits(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    strbuf_add(&sb, "0 p");
    for (unsigned i = 0; i < 4095; i++)
        strbuf_add(&sb, " a");
    strbuf_add(&sb, "\n");
    {
        char **argv = NULL;
        size_t n = 0;

        assert_int_equal(multiprog_argv(strbuf_str(&sb), 0, NULL, 0, &argv), 0);
        while (argv[n])
            n++;
        assert_int_equal(n, 4096);
        argv = multiprog_free(argv);
    }
    sb.len--; /* the line's end */
    strbuf_add(&sb, " a\n");
    expect_error(strbuf_str(&sb), 0, -EINVAL);
    strbuf_reset(&sb);
    strbuf_add(&sb, "0 p");
    for (unsigned i = 0; i < 5000; i++)
        strbuf_add(&sb, "  "); /* empty arguments count */
    strbuf_add(&sb, "a\n");
    expect_error(strbuf_str(&sb), 0, -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),  cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_words),  cmocka_unit_test(test_extra_words),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
