/* test_sacctmgr_file.c - lines of the files that sacctmgr dump writes and load reads */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/sacctmgr/sacctmgr_file.h"

static char room[16384];
static struct flat_line line;

static int parse_line(const char *text, struct err *err)
{
    (void)snprintf(room, sizeof(room), "%s", text);
    return flat_parse(room, &line, err);
}

/* want: NAME, then <option|value> of each. */
static void expect_line(const char *text, enum flat_kind kind, const char *want)
{
    struct err err = { .text = "" };
    char got[1024];
    int n;

    if (parse_line(text, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(line.kind, kind);
    n = snprintf(got, sizeof(got), "%s", line.name ? line.name : "-");
    for (size_t i = 0; i < line.n; i++)
        n += snprintf(got + n, sizeof(got) - (size_t)n, "<%s|%s>", line.options[i].name,
                      line.options[i].value);
    assert_string_equal(got, want);
}

static void expect_refusal(const char *text, const char *want)
{
    struct err err = { .text = "" };

    assert_int_equal(parse_line(text, &err), -EINVAL);
    assert_string_equal(err.text, want);
}

static void test_nothing(void **state)
{
    (void)state;
    expect_line("", FLAT_NOTHING, "-");
    expect_line(" \t\n", FLAT_NOTHING, "-");
    expect_line("# To edit this file - start with a cluster line", FLAT_NOTHING, "-");
    expect_line("   # User - 'x'", FLAT_NOTHING, "-");
    expect_line("no line of anything", FLAT_NOTHING, "-");
}

static void test_kinds(void **state)
{
    (void)state;
    expect_line("Cluster - 'tux'", FLAT_CLUSTER, "tux");
    expect_line("Machine - tux", FLAT_CLUSTER, "tux");
    expect_line("Parent - 'root'\n", FLAT_PARENT, "root");
    expect_line("Account - 'chem'", FLAT_ACCOUNT, "chem");
    expect_line("project - \"chem\"", FLAT_ACCOUNT, "chem");
    expect_line("  User-'adam'", FLAT_USER, "adam");
    expect_line("QOS - 'normal'", FLAT_QOS, "normal");
    expect_refusal("Users - 'adam'",
                   "a line begins with Cluster, Parent, Account, User or QOS, and a dash");
    expect_refusal("Group - 'adam'",
                   "a line begins with Cluster, Parent, Account, User or QOS, and a dash");
}

/* As recorded files have them. */
static void test_options(void **state)
{
    (void)state;
    expect_line("Cluster - 'tux':Fairshare=1:QOS='normal'", FLAT_CLUSTER,
                "tux<Fairshare|1><QOS|normal>");
    expect_line("Account - 'chem':Description='all of it: and more':Organization='o=p'",
                FLAT_ACCOUNT, "chem<Description|all of it: and more><Organization|o=p>");
    expect_line("User - 'adam':DefaultAccount=\"it's\":AdminLevel='Operator'", FLAT_USER,
                "adam<DefaultAccount|it's><AdminLevel|Operator>");
    expect_line("User - 'a':Fairshare = 7 :Comment=' x '", FLAT_USER,
                "a<Fairshare|7><Comment| x >");
    expect_line("User - 'a':Comment=''", FLAT_USER, "a<Comment|>");
    expect_line("User - 'a':", FLAT_USER, "a");
    expect_line("User - 'a:b':Fairshare=1", FLAT_USER, "a:b<Fairshare|1>");
}

/* Names of TRES hold colons, and so may values. */
static void test_values_go_on(void **state)
{
    (void)state;
    expect_line("User - 'a':MaxTRES=cpu=4,gres/gpu:tesla=2:Fairshare=1", FLAT_USER,
                "a<MaxTRES|cpu=4,gres/gpu:tesla=2><Fairshare|1>");
    expect_line("User - 'a':GrpTRESMins=gres/gpu:a=1,gres/gpu:b=2", FLAT_USER,
                "a<GrpTRESMins|gres/gpu:a=1,gres/gpu:b=2>");
    expect_line("User - 'a':Comment=b:c:d:Fairshare=1", FLAT_USER, "a<Comment|b:c:d><Fairshare|1>");
    expect_line("User - 'a':Comment=b::c:Fairshare=1", FLAT_USER, "a<Comment|b::c><Fairshare|1>");
    expect_line("User - 'a':Comment=::c", FLAT_USER, "a<Comment|::c>");
    expect_line("User - 'a'::Fairshare=1::", FLAT_USER, "a<Fairshare|1>");
}

static void test_refusals(void **state)
{
    char many[9000];
    int n = snprintf(many, sizeof(many), "User - 'a'");

    (void)state;
    expect_refusal("User -", "the name is missing");
    expect_refusal("User - '':Fairshare=1", "the name is missing");
    expect_refusal("User - 'adam:Fairshare=1", "a quote ' is not closed");
    expect_refusal("User - 'adam':Comment=\"x", "a quote \" is not closed");
    expect_refusal("User - 'adam':Fairshare", "'Fairshare' is not of the form Option=value");
    for (unsigned i = 0; i < FLAT_OPTIONS_MAX; i++)
        n += snprintf(many + n, sizeof(many) - (size_t)n, ":Option%u=%u", i, i);
    assert_int_equal(parse_line(many, NULL), 0);
    assert_int_equal(line.n, FLAT_OPTIONS_MAX);
    assert_string_equal(line.options[FLAT_OPTIONS_MAX - 1].value, "255");
    (void)snprintf(many + n, sizeof(many) - (size_t)n, ":One=more");
    expect_refusal(many, "more than 256 options");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),  cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_options),  cmocka_unit_test(test_values_go_on),
        cmocka_unit_test(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("sacctmgr_file", tests, NULL, NULL);
}
