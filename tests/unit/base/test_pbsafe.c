/* test_pbsafe.c - what the strings of messages may hold, and how they are cleaned */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acctop.pb-c.h"
#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/pb/pbsafe.h"
#include "base/pb/pbutil.h"
#include "resv.pb-c.h"

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
    assert_int_equal(pbsafe_check(&req.base, &err), 0);
    job.argv = argv; /* a program's own business */
    job.n_argv = 2;
    job.submit_line = (char *)"sbatch --wrap echo\n\x1b";
    job.comment = (char *)"two\nlines";
    assert_int_equal(pbsafe_check(&req.base, &err), 0);
    assert_string_equal(err.text, "");
    second.licenses = (char *)"ab\x1b";
    assert_int_equal(pbsafe_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "licenses has a control character, at byte 3");
    second.licenses = NULL;
    job.comment = (char *)"\x1b";
    assert_int_equal(pbsafe_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "comment has a control character, at byte 1");
    job.comment = NULL;
    job.mail_user = (char *)"-x";
    assert_int_equal(pbsafe_check(&req.base, &err), -EINVAL);
    assert_string_equal(err.text, "mail_user is not an address of mail");
    job.mail_user = (char *)"";
    assert_int_equal(pbsafe_check(&req.base, NULL), 0);
    job.spank_job_env = env;
    job.n_spank_job_env = 1;
    assert_int_equal(pbsafe_check(&req.base, &err), 0);
    job.n_spank_job_env = 2;
    assert_int_equal(pbsafe_check(&req.base, &err), -EINVAL);
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
    enum pbsafe_rule rule;
    const char *message, *field;
    size_t i = 0;

    (void)state;
    for (; pbsafe_row(i, &message, &field, &rule); i++) {
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
    pbsafe_clean(copy);
    assert_string_equal(((Pst__JobRecord *)copy)->name, "a b");
    assert_string_equal(((Pst__JobRecord *)copy)->argv[1], "a b");
    assert_string_equal(((Pst__JobRecord *)copy)->alloc->nodes, "n?");
    protobuf_c_message_free_unpacked(copy, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_clean_message),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
