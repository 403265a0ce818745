/* test_safetext.c - what words of users may hold, and how they are cleaned */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "base/strbuf.h"
#include "model/jobenv.h"

static const struct {
    const char *text;
    bool line, address, variable;
    const char *cleaned; /* NULL: as it is */
} cases[] = {
    { "", true, true, false, NULL },
    { "abc", true, true, false, NULL },
    { "a b", true, true, false, NULL },
    /* C3 AF: no control character, though 0xAF... */
    { "na\xc3\xafve", true, true, false, NULL },
    { "\xc2\xa0x", true, true, false, NULL }, /* U+00A0, the first after the C1 */
    { "caf\xe9", true, true, false, NULL },   /* no UTF-8 */
    { "x\xc2", true, true, false, NULL },     /* cut off */
    { "a\nb", false, false, false, "a b" },
    { "a\tb", false, false, false, "a b" },
    { "a\rb", false, false, false, "a b" },
    { "\x1b[31m", false, false, false, "?[31m" },
    { "\x01\x1f\x7f", false, false, false, "???" },
    { "a\xc2\x9b"
      "31m",
      false, false, false, "a??31m" }, /* CSI in one character */
    { "\xc2\x80", false, false, false, "\?\?" },
    { "me@there", true, true, false, NULL },
    { "a.b-c+d=e_f%g'h@x", true, true, false, NULL },
    { "a@x,b@y c", true, true, false, NULL },
    { "-s", true, false, false, NULL },
    { "a -s", true, false, false, NULL },
    { "a,-s", true, false, false, NULL },
    { "+x", true, false, false, NULL },
    { "|x", true, false, false, NULL },
    { "a|x", true, false, false, NULL },
    { "/x", true, false, false, NULL },
    { "a/x", true, false, false, NULL },
    { "a;b", true, false, false, NULL },
    { "A=b", true, true, true, NULL },
    { "A_1=", true, true, true, NULL },
    { "A=b\nc", false, false, true, "A=b c" },
    { "1A=b", true, true, false, NULL },
    { "A B=b", true, true, false, NULL },
    { "A\nB=b", false, false, false, "A B=b" },
    { "=b", true, false, false, NULL },
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *copy = strdup(cases[i].text);

        print_message("# %zu\n", i);
        assert_int_equal(safetext_is_line(cases[i].text), cases[i].line);
        assert_int_equal(!safetext_control(cases[i].text, ""), cases[i].line);
        assert_int_equal(safetext_is_address(cases[i].text), cases[i].address);
        assert_int_equal(safetext_is_variable(cases[i].text), cases[i].variable);
        assert_non_null(copy);
        safetext_clean(copy);
        assert_string_equal(copy, cases[i].cleaned ? cases[i].cleaned : cases[i].text);
        assert_true(safetext_is_line(copy));
    }
}

static void test_utf8(void **state)
{
    (void)state;
    assert_int_equal(safetext_utf8("a"), 1);
    assert_int_equal(safetext_utf8("\xc3\xaf"), 2);
    assert_int_equal(safetext_utf8("\xe2\x82\xac"), 3);
    assert_int_equal(safetext_utf8("\xf0\x9f\x9a\x80"), 4);
    assert_int_equal(safetext_utf8("\xc0\xaf"), 0);     /* longer than it need be */
    assert_int_equal(safetext_utf8("\xed\xa0\x80"), 0); /* a surrogate */
    assert_int_equal(safetext_utf8("\xe2\x82"), 0);
    assert_int_equal(safetext_utf8("\x9b"), 0);
    assert_true(safetext_is_c1("\xc2\x9b"));
    assert_false(safetext_is_c1("\xc2\xa0"));
}

static void keep(void *ctx, const char *name, const char *value)
{
    strbuf_addf(ctx, "%s=%s\n", name, value);
}

/* What Prolog and Epilog are told of a job from an old log: every variable is one line. */
static void test_job_environment(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf env = STRBUF_INIT;
    char *plugins[] = { (char *)"X\nLD_PRELOAD=/tmp/x.so", (char *)"=y", (char *)"GOOD=a" };
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    (void)state;
    job.has_batch = job.batch = true;
    job.account = (char *)"a\nPATH=/tmp";
    job.comment = (char *)"c\nLD_PRELOAD=/tmp/x.so";
    job.spank_job_env = plugins;
    job.n_spank_job_env = 3;
    job.work_dir = (char *)"/home/a";
    job.std_out = (char *)"log/%j.out";
    job.std_err = (char *)"/tmp/err";
    jobenv_job(&job, "test", NULL, keep, &env);
    assert_non_null(strstr(strbuf_str(&env), "\nSLURM_JOB_ACCOUNT=a PATH=/tmp\n"));
    assert_non_null(strstr(strbuf_str(&env), "\nSLURM_JOB_COMMENT=c LD_PRELOAD=/tmp/x.so\n"));
    assert_non_null(strstr(strbuf_str(&env), "\nSPANK_GOOD=a\n"));
    assert_non_null(strstr(strbuf_str(&env), "\nSLURM_JOB_STDOUT=/home/a/log/%j.out\n"));
    assert_non_null(strstr(strbuf_str(&env), "\nSLURM_JOB_STDERR=/tmp/err\n"));
    assert_null(strstr(strbuf_str(&env), "SPANK_X"));
    assert_null(strstr(strbuf_str(&env), "\nLD_PRELOAD"));
    assert_null(strstr(strbuf_str(&env), "SPANK_="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_job_environment),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
