/* test_safetext.c - what words of users may hold, in text alone and in messages, and how they
 * are cleaned */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "acctop.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "base/strbuf.h"
#include "model/jobenv.h"
#include "resv.pb-c.h"

static const struct {
    const char *text;
    bool line, plain, address, variable;
    const char *cleaned; /* NULL: as it is */
} cases[] = {
    { "", true, true, true, false, NULL },
    { "abc", true, true, true, false, NULL },
    { "a b", true, true, true, false, NULL },
    /* C3 AF: no control character, though 0xAF... */
    { "na\xc3\xafve", true, true, true, false, NULL },
    { "\xc2\xa0x", true, true, true, false, NULL }, /* U+00A0, the first after the C1 */
    { "caf\xe9", true, true, true, false, NULL },   /* no UTF-8 */
    { "x\xc2", true, true, true, false, NULL },     /* cut off */
    { "a\nb", false, true, false, false, "a b" },
    { "a\tb", false, true, false, false, "a b" },
    { "a\rb", false, true, false, false, "a b" },
    { "\x1b[31m", false, false, false, false, "?[31m" },
    { "\x01\x1f\x7f", false, false, false, false, "???" },
    { "a\xc2\x9b"
      "31m",
      false, false, false, false, "a??31m" }, /* CSI in one character */
    { "\xc2\x80", false, false, false, false, "\?\?" },
    { "me@there", true, true, true, false, NULL },
    { "a.b-c+d=e_f%g'h@x", true, true, true, false, NULL },
    { "a@x,b@y c", true, true, true, false, NULL },
    { "-s", true, true, false, false, NULL },
    { "a -s", true, true, false, false, NULL },
    { "a,-s", true, true, false, false, NULL },
    { "+x", true, true, false, false, NULL },
    { "|x", true, true, false, false, NULL },
    { "a|x", true, true, false, false, NULL },
    { "/x", true, true, false, false, NULL },
    { "a/x", true, true, false, false, NULL },
    { "a;b", true, true, false, false, NULL },
    { "A=b", true, true, true, true, NULL },
    { "A_1=", true, true, true, true, NULL },
    { "A=b\nc", false, true, false, true, "A=b c" },
    { "1A=b", true, true, true, false, NULL },
    { "A B=b", true, true, true, false, NULL },
    { "A\nB=b", false, true, false, false, "A B=b" },
    { "=b", true, true, false, false, NULL },
};

static void test_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *copy = strdup(cases[i].text);

        print_message("# %zu\n", i);
        assert_int_equal(safetext_is_line(cases[i].text), cases[i].line);
        assert_int_equal(safetext_is_text(cases[i].text), cases[i].plain);
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

/* Every string of a request is found, however deep, and a field that nobody thought of is a
 * line. */
static void test_messages(void **state)
{
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT, second = PST__JOB_RECORD__INIT;
    Pst__HetComponent part = PST__HET_COMPONENT__INIT, *parts[] = { &part };
    char *argv[] = { (char *)"x", (char *)"a\nb" }, *env[] = { (char *)"A=b", (char *)"A\nB=c" };
    struct err err = { .text = "" };

    (void)state;
    req.job = &job;
    part.job = &second;
    req.n_components = 1;
    req.components = parts;
    assert_int_equal(safetext_check(&req.base, &err), 0);
    job.argv = argv; /* a program's own business */
    job.n_argv = 2;
    job.submit_line = (char *)"sbatch --wrap echo\n\x1b";
    job.comment = (char *)"two\nlines";
    assert_int_equal(safetext_check(&req.base, &err), 0);
    assert_string_equal(err.text, "");
    second.licenses = (char *)"ab\x1b";
    assert_int_equal(safetext_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "licenses has a control character, at byte 3");
    second.licenses = NULL;
    job.comment = (char *)"\x1b";
    assert_int_equal(safetext_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "comment has a control character, at byte 1");
    job.comment = NULL;
    job.mail_user = (char *)"-x";
    assert_int_equal(safetext_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "mail_user is not an address of mail");
    job.mail_user = (char *)"";
    assert_int_equal(safetext_check(&req.base, NULL), 0);
    job.spank_job_env = env;
    job.n_spank_job_env = 1;
    assert_int_equal(safetext_check(&req.base, &err), 0);
    job.n_spank_job_env = 2;
    assert_int_equal(safetext_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "an entry of spank_job_env is not NAME=value");
}

static const ProtobufCMessageDescriptor *const types[] = {
    &pst__job_record__descriptor,         &pst__step_spec__descriptor,
    &pst__acct_job_set__descriptor,       &pst__crontab_set_request__descriptor,
    &pst__node_record__descriptor,        &pst__job_action_request__descriptor,
    &pst__reservation_record__descriptor, &pst__cert_request__descriptor,
};

/* A row whose field has another name by now would let nothing through, or everything. */
static void test_rows(void **state)
{
    enum safetext_rule rule;
    const char *message, *field;
    size_t i = 0;

    (void)state;
    for (; safetext_row(i, &message, &field, &rule); i++) {
        const ProtobufCFieldDescriptor *f = NULL;

        for (size_t k = 0; k < ARRAY_SIZE(types); k++)
            if (strcmp(types[k]->short_name, message) == 0)
                f = protobuf_c_message_descriptor_get_field_by_name(types[k], field);
        print_message("# %s.%s\n", message, field);
        assert_non_null(f);
        assert_int_equal(f->type, PROTOBUF_C_TYPE_STRING);
    }
    assert_true(i > 0);
}

static void test_clean_message(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    ProtobufCMessage *copy = NULL;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    char *argv[] = { (char *)"x", (char *)"a\nb" };

    (void)state;
    alloc.nodes = (char *)"n\x1b";
    job.alloc = &alloc;
    job.name = (char *)"a\nb";
    job.argv = argv;
    job.n_argv = 2;
    assert_int_equal(pb_dup(&job.base, &copy), 0);
    safetext_clean_message(copy);
    assert_string_equal(((Pst__JobRecord *)copy)->name, "a b");
    assert_string_equal(((Pst__JobRecord *)copy)->argv[1], "a b");
    assert_string_equal(((Pst__JobRecord *)copy)->alloc->nodes, "n?");
    protobuf_c_message_free_unpacked(copy, NULL);
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
        cmocka_unit_test(test_words),         cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_messages),      cmocka_unit_test(test_rows),
        cmocka_unit_test(test_clean_message), cmocka_unit_test(test_job_environment),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
