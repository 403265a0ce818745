/* test_cli_opts.c - option tables: parsing, environment names, texts */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base/argwords.h"
#include "cli/base/cli.h"
#include "cli/base/opts.h"

enum { ID_ALPHA, ID_BETA, ID_FLAG, ID_OTHER, ID_BAD, ID_ALPS, ID_FLIGHT };

static const struct opt rows[] = {
    { .name = "alpha",
      .letter = 'a',
      .arg = OPT_REQ,
      .id = ID_ALPHA,
      .env = "@ALPHA,OTHER_X,TOOL_A2",
      .group = "Things",
      .metavar = "word",
      .help = "first thing with a text long enough that it must be "
              "wrapped to a second line" },
    { .name = "beta",
      .arg = OPT_OPT,
      .id = ID_BETA,
      .env = "TOOL_BETA",
      .metavar = "n",
      .help = "second" },
    { .name = "flag",
      .letter = 'f',
      .arg = OPT_NONE,
      .id = ID_FLAG,
      .env = "@FLAG",
      .group = "More",
      .help = "a flag" },
    { .name = "other",
      .letter = 'o',
      .arg = OPT_NONE,
      .id = ID_OTHER,
      .applies = 2,
      .help = "elsewhere" },
    { .name = "bad", .arg = OPT_REQ, .id = ID_BAD, .help = NULL },
    { .name = "alps", .arg = OPT_NONE, .id = ID_ALPS, .ours = true },
    { .name = "flight", .arg = OPT_NONE, .id = ID_FLIGHT },
};

struct seen {
    char text[512];
};

static int record(void *ctx, const struct opt *o, const char *arg, enum opt_source source,
                  struct err *err)
{
    struct seen *s = ctx;
    size_t n = strlen(s->text);

    if (o->id == ID_BAD)
        return err_set(err, 7, "no");
    (void)snprintf(s->text + n, sizeof(s->text) - n, "%s=%s/%d;", o->name, arg ? arg : "-",
                   (int)source);
    return 0;
}

static const struct opt_command command = {
    .name = "tool",
    .prefix = "TOOL",
    .bit = 1,
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS...] file",
    .set = record,
    .usage_status = 255,
};

static void test_parse(void **state)
{
    char *argv[] = { (char *)"/x/tool", (char *)"-a", (char *)"1",
                     (char *)"--beta",  (char *)"-f", (char *)"--alpha=2",
                     (char *)"file",    (char *)"-f", NULL };
    struct seen s = { "" };

    (void)state;
    assert_int_equal(opts_parse(&command, 8, argv, &s), 6);
    assert_string_equal(s.text, "alpha=1/3;beta=-/3;flag=-/3;alpha=2/3;");
}

/* An option of ours takes no abbreviation from one of the incumbent's, and has its own. */
static void test_abbreviations(void **state)
{
    char *argv[] = { (char *)"tool", (char *)"--al=1", (char *)"--alp=2", (char *)"--alps", NULL };
    char *table[] = { (char *)"x", (char *)"--hel", NULL };
    char *both[] = { (char *)"x", (char *)"--fl", NULL };
    struct seen s = { "" };
    int status = 0;

    (void)state;
    assert_int_equal(opts_parse(&command, 4, argv, &s), 4);
    assert_string_equal(s.text, "alpha=1/3;alpha=2/3;alps=-/3;");
    assert_int_equal(opts_parse_line(&command, 2, table, &s, &status), 2); /* --help */
    assert_true(opts_parse_line(&command, 2, both, &s, &status) < 0);
    assert_int_equal(status, 255);
}

static void test_permute(void **state)
{
    char *argv[] = { (char *)"tool", (char *)"file", (char *)"-f", (char *)"two", NULL };
    struct opt_command cmd = command;
    struct seen s = { "" };
    int first;

    (void)state;
    cmd.permute = true;
    first = opts_parse(&cmd, 4, argv, &s);
    assert_int_equal(first, 2);
    assert_string_equal(argv[2], "file");
    assert_string_equal(s.text, "flag=-/3;");
}

static void test_line(void **state)
{
    char *unknown[] = { (char *)"x", (char *)"--nope", NULL };
    char *refused[] = { (char *)"x", (char *)"--bad=1", NULL };
    char *help[] = { (char *)"x", (char *)"--help", NULL };
    char *foreign[] = { (char *)"x", (char *)"--other", NULL };
    struct seen s = { "" };
    int status = 0;

    (void)state;
    assert_true(opts_parse_line(&command, 2, unknown, &s, &status) < 0);
    assert_int_equal(status, 255);
    assert_true(opts_parse_line(&command, 2, refused, &s, &status) < 0);
    assert_int_equal(status, 7);
    assert_int_equal(opts_parse_line(&command, 2, help, &s, &status), 2); /* not heard */
    assert_true(opts_parse_line(&command, 2, foreign, &s, &status) < 0);
    assert_int_equal(status, 255);
    assert_string_equal(s.text, "");
}

static void test_environment(void **state)
{
    struct seen s = { "" };

    (void)state;
    setenv("TOOL_ALPHA", "e1", 1);
    setenv("TOOL_BETA", "", 1);
    setenv("TOOL_FLAG", "0", 1);
    opts_env(&command, &s);
    assert_string_equal(s.text, "alpha=e1/2;beta=-/2;");
    s.text[0] = '\0';
    setenv("TOOL_ALPHA", "", 1);
    setenv("TOOL_FLAG", "yes", 1);
    unsetenv("TOOL_BETA");
    opts_env(&command, &s);
    assert_string_equal(s.text, "flag=-/2;");
    setenv("TOOL_FLAG", "", 1);
    s.text[0] = '\0';
    opts_env(&command, &s);
    assert_string_equal(s.text, "flag=-/2;");
    unsetenv("TOOL_ALPHA");
    unsetenv("TOOL_FLAG");
}

static void test_env_names(void **state)
{
    char name[64];

    (void)state;
    assert_true(opts_env_name(&command, &rows[0], 0, name, sizeof(name)));
    assert_string_equal(name, "TOOL_ALPHA");
    assert_true(opts_env_name(&command, &rows[0], 1, name, sizeof(name)));
    assert_string_equal(name, "TOOL_A2"); /* OTHER_X is some other command's */
    assert_false(opts_env_name(&command, &rows[0], 2, name, sizeof(name)));
    assert_false(opts_env_name(&command, &rows[4], 0, name, sizeof(name)));
}

/* ---- rows that say where the value goes ------------------------------------------------------ */

struct settings {
    int before; /* so that no offset is 0 by luck */
    bool on, given, off;
    int message_flag; /* as protobuf_c_boolean */
    const char *text, *other;
    char *copy;
    struct opt_fields fields;
    char **words;
    size_t n_words;
    enum { RED, GREEN } colour;
    uint32_t bits, count;
    struct cli cli;
};

static int take_twice(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct settings *s = at;

    if (strcmp(arg, "no") == 0)
        return err_set(err, 9, "--%s: no", opt->name);
    s->count = 2 * (uint32_t)strtoul(arg, NULL, 10);
    return 0;
}

#define OPT_INTO struct settings
static const struct opt bound_rows[] = {
    OPT("on", 'o', OPT_NONE, OPT_AND(OPT_FLAG(on), OPT_GIVEN(given))),
    OPT("off", 0, OPT_NONE, OPT_UNFLAG(off)),
    OPT("message", 0, OPT_NONE, OPT_FLAG(message_flag)),
    OPT("text", 't', OPT_OPT, OPT_AND(OPT_TEXT(text), OPT_BUT(other)), "@TEXT"),
    OPT("other", 0, OPT_REQ, OPT_AND(OPT_TEXT(other), OPT_BUT(text))),
    OPT("copy", 0, OPT_REQ, OPT_COPY(copy)),
    OPT("fields", 'f', OPT_REQ, OPT_FIELDS(fields), "@FIELDS"),
    OPT("words", 'w', OPT_REQ, OPT_AND(OPT_WORDS(words, n_words), OPT_GIVEN(given))),
    OPT("green", 0, OPT_NONE, OPT_CHOICE(colour, GREEN)),
    OPT("two", 0, OPT_NONE, OPT_BITS(bits, 2)),
    OPT("four", 0, OPT_NONE, OPT_BITS(bits, 4)),
    OPT("twice", 0, OPT_REQ, OPT_AND(OPT_TAKE_ALL(take_twice), OPT_GIVEN(given))),
    OPT("count", 'c', OPT_REQ, OPT_TAKE(count, opt_take_count)),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli)),
    OPT("nothing", 0, OPT_REQ, OPT_NOTHING),
};
#undef OPT_INTO

static const struct opt_command bound = {
    .name = "bound",
    .prefix = "BOUND",
    .rows = bound_rows,
    .n = ARRAY_SIZE(bound_rows),
    .synopsis = "",
    .usage_status = 255,
};

/* One line of up to 15 words; gives the exit status, 0 = taken. */
static int parse_bound(struct settings *s, const char *line)
{
    char words[256], *rest = words, *argv[16] = { (char *)"bound" };
    int argc = 1, status = 0;

    (void)snprintf(words, sizeof(words), "%s", line);
    while (argc < 15 && (argv[argc] = strsep(&rest, " ")))
        argc++;
    (void)opts_parse_line(&bound, argc, argv, s, &status);
    return status;
}

/* The command line's fields add up, and count instead of the environment's. */
static void test_bound_fields(void **state)
{
    struct settings s = { 0 };

    (void)state;
    assert_int_equal(setenv("BOUND_FIELDS", "env", 1), 0);
    opts_env(&bound, &s);
    assert_string_equal(s.fields.list, "env");
    assert_int_equal(parse_bound(&s, "-f a,b --fields=c"), 0);
    assert_string_equal(s.fields.list, "a,b,c");
    assert_int_equal(unsetenv("BOUND_FIELDS"), 0);
    free(s.fields.list);
}

static void test_bound_flags(void **state)
{
    struct settings s = { .off = true };

    (void)state;
    assert_int_equal(parse_bound(&s, "--off --message --green --two --four --nothing=x"), 0);
    assert_true(!s.off && s.message_flag == 1 && s.colour == GREEN && s.bits == 6);
    assert_false(s.on || s.given);
    assert_int_equal(parse_bound(&s, "-o -vv"), 0);
    assert_true(s.on && s.given);
    assert_int_equal(s.cli.verbose, 2);
    assert_int_equal(s.before, 0);
}

static void test_bound_texts(void **state)
{
    struct settings s = { .before = 0 };

    (void)state;
    setenv("BOUND_TEXT", "from outside", 1);
    opts_env(&bound, &s);
    unsetenv("BOUND_TEXT");
    assert_string_equal(s.text, "from outside");
    assert_int_equal(parse_bound(&s, "--other=x --copy=one --copy=two -w a,,b --words=c"), 0);
    assert_null(s.text);
    assert_non_null(s.other);
    assert_string_equal(s.copy, "two");
    assert_int_equal(s.n_words, 3);
    assert_string_equal(s.words[2], "c");
    assert_true(s.given);
    assert_int_equal(parse_bound(&s, "--text"), 0);
    assert_true(!s.text && !s.other);
    free(s.copy);
    argwords_free(s.words, s.n_words);
}

static void test_bound_functions(void **state)
{
    struct settings s = { .before = 0 };

    (void)state;
    assert_int_equal(parse_bound(&s, "--twice=no"), 9);
    assert_false(s.given);
    assert_int_equal(parse_bound(&s, "--twice=21"), 0);
    assert_true(s.given && s.count == 42);
    assert_int_equal(parse_bound(&s, "-c 7"), 0);
    assert_int_equal(s.count, 7);
    assert_int_equal(parse_bound(&s, "-c 0"), 1);
    assert_int_equal(parse_bound(&s, "-c x"), 1);
}

static char *text_of(void (*print)(const struct opt_command *, FILE *))
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    print(&command, f);
    (void)fclose(f);
    return text;
}

static void test_texts(void **state)
{
    _cleanup_free_ char *help = text_of(opts_print_help);
    _cleanup_free_ char *usage = text_of(opts_print_usage);
    _cleanup_free_ char *table = text_of(opts_print_table);

    (void)state;
    assert_non_null(strstr(help, "Usage: tool [OPTIONS...] file\n\nThings:\n"
                                 "  -a, --alpha=word            first thing with a text"));
    assert_non_null(strstr(help, "\n                              "));
    assert_non_null(strstr(help, "      --beta[=n]              second\n\nMore:\n"));
    assert_null(strstr(help, "elsewhere"));
    assert_null(strstr(help, "--bad"));
    for (const char *p = help; *p; p += strcspn(p, "\n") + 1)
        assert_true(strcspn(p, "\n") <= 80);
    assert_string_equal(usage, "Usage: tool [-a word] [--beta[=n]] [--flag]\n            file\n");
    assert_non_null(strstr(table, "alpha\ta\trequired\tword\tThings\tTOOL_ALPHA,TOOL_A2\tfirst"));
}

static void test_find(void **state)
{
    (void)state;
    assert_ptr_equal(opts_find(&command, ID_BETA), &rows[1]);
    assert_null(opts_find(&command, ID_OTHER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),        cmocka_unit_test(test_abbreviations),
        cmocka_unit_test(test_permute),      cmocka_unit_test(test_line),
        cmocka_unit_test(test_environment),  cmocka_unit_test(test_env_names),
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_find),
        cmocka_unit_test(test_bound_fields), cmocka_unit_test(test_bound_flags),
        cmocka_unit_test(test_bound_texts),  cmocka_unit_test(test_bound_functions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
