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
#include "cli/base/cli.h"
#include "cli/base/opts.h"

enum { ID_ALPHA, ID_BETA, ID_FLAG, ID_OTHER, ID_BAD };

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
};

static const struct opt_command command = {
    .name = "tool",
    .prefix = "TOOL",
    .bit = 1,
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS...] file",
    .usage_status = 255,
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

static void test_parse(void **state)
{
    char *argv[] = { (char *)"/x/tool", (char *)"-a", (char *)"1",
                     (char *)"--beta",  (char *)"-f", (char *)"--alpha=2",
                     (char *)"file",    (char *)"-f", NULL };
    struct seen s = { "" };

    (void)state;
    assert_int_equal(opts_parse(&command, 8, argv, record, &s), 6);
    assert_string_equal(s.text, "alpha=1/3;beta=-/3;flag=-/3;alpha=2/3;");
}

static void test_permute(void **state)
{
    char *argv[] = { (char *)"tool", (char *)"file", (char *)"-f", (char *)"two", NULL };
    struct opt_command cmd = command;
    struct seen s = { "" };
    int first;

    (void)state;
    cmd.permute = true;
    first = opts_parse(&cmd, 4, argv, record, &s);
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
    assert_true(opts_parse_line(&command, 2, unknown, record, &s, &status) < 0);
    assert_int_equal(status, 255);
    assert_true(opts_parse_line(&command, 2, refused, record, &s, &status) < 0);
    assert_int_equal(status, 7);
    assert_true(opts_parse_line(&command, 2, help, record, &s, &status) < 0);
    assert_int_equal(status, 255);
    assert_true(opts_parse_line(&command, 2, foreign, record, &s, &status) < 0);
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
    opts_env(&command, record, &s);
    assert_string_equal(s.text, "alpha=e1/2;beta=-/2;");
    s.text[0] = '\0';
    setenv("TOOL_ALPHA", "", 1);
    setenv("TOOL_FLAG", "yes", 1);
    unsetenv("TOOL_BETA");
    opts_env(&command, record, &s);
    assert_string_equal(s.text, "flag=-/2;");
    setenv("TOOL_FLAG", "", 1);
    s.text[0] = '\0';
    opts_env(&command, record, &s);
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
        cmocka_unit_test(test_parse),     cmocka_unit_test(test_permute),
        cmocka_unit_test(test_line),      cmocka_unit_test(test_environment),
        cmocka_unit_test(test_env_names), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_find),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
