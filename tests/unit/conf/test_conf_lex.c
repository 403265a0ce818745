/* test_conf_lex.c - lines and pairs of the slurm.conf dialect: comments, continuations, quotes */
#include "conf_util.h"

#include <errno.h>

#include "conf/lex/conf_lex.h"

static char room[4096];

static void open_text(struct conf_lex *lx, const char *text)
{
    size_t len = strlen(text);

    assert_true(len < sizeof(room));
    memcpy(room, text, len + 1);
    conf_lex_init(lx, room, len);
}

static void expect_line(struct conf_lex *lx, const char *want, unsigned want_line)
{
    char *text = NULL;
    unsigned line = 0;

    assert_true(conf_lex_line(lx, &text, &line));
    assert_string_equal(text, want);
    assert_int_equal(line, want_line);
}

static void expect_end(struct conf_lex *lx)
{
    char *text = NULL;
    unsigned line = 0;

    assert_false(conf_lex_line(lx, &text, &line));
}

/* Blank lines and comments are no lines, but count. */
static void test_lines(void **state)
{
    struct conf_lex lx;

    (void)state;
    open_text(&lx, "\n  \t\r\n# first\nA=1\n\n   # A=2 \\\n B=2\r\nC=3");
    expect_line(&lx, "A=1", 4);
    expect_line(&lx, "B=2\r", 7); /* a comment does not go on in the next line */
    expect_line(&lx, "C=3", 8);
    expect_end(&lx);
    expect_end(&lx);
    open_text(&lx, "");
    expect_end(&lx);
    open_text(&lx, "#no newline");
    expect_end(&lx);
    open_text(&lx, "\xef\xbb\xbf"
                   "A=1\n"); /* as editors of Windows begin a file */
    expect_line(&lx, "A=1", 1);
    expect_end(&lx);
}

static void test_continuations(void **state)
{
    struct conf_lex lx;

    (void)state;
    open_text(&lx, "NodeName=a \\\n  CPUs=4 \\\n  Weight=2\nB=1\n");
    expect_line(&lx, "NodeName=a   CPUs=4   Weight=2", 1);
    expect_line(&lx, "B=1", 4);
    expect_end(&lx);
    open_text(&lx, "A=1\\  \nB\nC=3\n"); /* blanks behind the backslash are not seen */
    expect_line(&lx, "A=1B", 1);
    expect_line(&lx, "C=3", 3);
    open_text(&lx, "A=1 # why \\\nB=2\n"); /* it stands in a comment */
    expect_line(&lx, "A=1 # why \\", 1);
    expect_line(&lx, "B=2", 2);
    open_text(&lx, "A=\\#1 \\\nB=2\nC=\"#\" \\\nD=1\n"); /* these open no comment */
    expect_line(&lx, "A=\\#1 B=2", 1);
    expect_line(&lx, "C=\"#\" D=1", 3);
    open_text(&lx, "A=1 \\\nB=2 # \\\nC=3\n"); /* of the joined line */
    expect_line(&lx, "A=1 B=2 # \\", 1);
    expect_line(&lx, "C=3", 3);
    open_text(&lx, "A=1\\\\\nB=2\n"); /* the first quotes the second */
    expect_line(&lx, "A=1\\\\", 1);
    expect_line(&lx, "B=2", 2);
    open_text(&lx, "A=1 \\"); /* nothing to go on with */
    expect_line(&lx, "A=1 \\", 1);
    expect_end(&lx);
}

static void test_peek_and_skip(void **state)
{
    static const char *const words[] = { "nodename", "nodeset" };
    struct conf_lex lx;

    (void)state;
    open_text(&lx, "# x\n\n NODEName = a \\\n CPUs=1\nNodeNames=b\nPartitionName=p\nNodeSet=s");
    assert_true(conf_lex_peek(&lx, words, 2));
    assert_true(conf_lex_peek(&lx, words, 2)); /* nothing was taken */
    assert_false(conf_lex_peek(&lx, words + 1, 1));
    conf_lex_skip(&lx); /* with its continuation */
    assert_false(conf_lex_peek(&lx, words, 2));
    expect_line(&lx, "NodeNames=b", 5);
    conf_lex_skip(&lx);
    assert_true(conf_lex_peek(&lx, words, 2));
    conf_lex_skip(&lx);
    assert_false(conf_lex_peek(&lx, words, 2));
    expect_end(&lx);
    open_text(&lx, "A=1 # \\\nNodeName=n\n");
    conf_lex_skip(&lx);
    assert_true(conf_lex_peek(&lx, words, 2));
    expect_line(&lx, "NodeName=n", 2);
}

static void expect_pairs(const char *line, const char *want)
{
    char text[1024], got[1024] = "", *cursor = text, *key, *value;
    struct err err = { .text = "" };
    int r;

    (void)snprintf(text, sizeof(text), "%s", line);
    while ((r = conf_lex_pair(&cursor, &key, &value, &err)) > 0) {
        size_t len = strlen(got);

        (void)snprintf(got + len, sizeof(got) - len, "<%s|%s>", key, value);
    }
    assert_int_equal(r, 0);
    assert_string_equal(got, want);
}

static void expect_refusal(const char *line, const char *want)
{
    char text[1024], *cursor = text, *key, *value;
    struct err err = { .text = "" };
    int r;

    (void)snprintf(text, sizeof(text), "%s", line);
    while ((r = conf_lex_pair(&cursor, &key, &value, &err)) > 0)
        ;
    assert_int_equal(r, -EINVAL);
    assert_string_equal(err.text, want);
}

static void test_pairs(void **state)
{
    (void)state;
    expect_pairs("", "");
    expect_pairs("  # A=1", "");
    expect_pairs("A=1 B_2=x,y\tC.d=[1-3]", "<A|1><B_2|x,y><C.d|[1-3]>");
    expect_pairs("A = 1  B= 2  ", "<A|1><B|2>");
    expect_pairs("A=1#B=2", "<A|1>");
    expect_pairs("A=1 #B=2", "<A|1>");
    expect_pairs("A=x\\#y B=2", "<A|x#y><B|2>");
    expect_pairs("A=b=c", "<A|b=c>");
    expect_pairs("Reason=\"a b # c\" B=2", "<Reason|a b # c><B|2>");
    expect_pairs("A=\"\" B=\"x\"#c", "<A|><B|x>");
    expect_pairs("A=\"x\\#y\"", "<A|x#y>");
    expect_pairs("A=x\"y B=2\r", "<A|x\"y><B|2>");
}

static void test_refusals(void **state)
{
    (void)state;
    expect_refusal("A", "expected Key=Value at \"A\"");
    expect_refusal("A=1 rest B=2", "expected Key=Value at \"rest\"");
    expect_refusal("=1", "expected Key=Value at \"=\"");
    expect_refusal("A-b=1", "expected Key=Value at \"A-b\"");
    expect_refusal("A=", "key A has no value");
    expect_refusal("A= # 1", "key A has no value");
    expect_refusal("A=\"x y", "a quote is not closed: \"x y");
    expect_refusal("A=\"x\"y", "text follows a closing quote: y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),         cmocka_unit_test(test_continuations),
        cmocka_unit_test(test_peek_and_skip), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("conf_lex", tests, NULL, NULL);
}
