/* test_nodeconf.c - a node with files of its own asks nobody, and keeps no launch */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "noded/link/nodeconf.h"

static void test_own_files(void **state)
{
    struct noded_options opt = { .common.conf_path = "/etc/slurm.conf" };
    struct noded d = { .opt = &opt };
    Pst__StepCredential cred = PST__STEP_CREDENTIAL__INIT;
    struct err err = { .text = "" };
    ProtobufCBinaryData digest;
    const char *problem;

    (void)state;
    cred.has_conf_since_us = true;
    cred.conf_since_us = INT64_MAX;
    assert_int_equal(nodeconf_begin(&d, &err), 0);
    assert_null(d.nodeconf);
    assert_true(nodeconf_ready(&d, NULL, &cred, -1, 0));
    assert_false(nodeconf_digest(&d, &digest, &problem));
    opt.conf_server = "a:b";
    assert_int_equal(nodeconf_begin(&d, &err), -EINVAL);
    assert_null(d.nodeconf);
    assert_true(err.text[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_files) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
