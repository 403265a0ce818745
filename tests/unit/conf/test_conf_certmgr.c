/* test_conf_certmgr.c - CertmgrType and CertmgrParameters */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_util.h"
#include "base/cleanup.h"
#include "conf/tls/conf_certmgr.h"

#define PERIOD "certificate_renewal_period wants a number of minutes from 1 to 525600"
#define ON "TLSType=tls/s2n\nCertmgrType=certmgr/script\nCertmgrParameters="

static void test_on(void **state)
{
    static const struct {
        const char *lines;
        bool on;
    } cases[] = {
        { "", false },
        { "CertmgrType=certmgr/script", false },
        { "CertmgrType=certmgr/script\nTLSType=tls/auto", false },
        { "CertmgrType=certmgr/script\nTLSType=tls/openssl", true },
        { "TLSType=tls/s2n", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_(conf_free) struct conf *c = conf_with_lines(cases[i].lines);

        assert_int_equal(conf_use_certmgr(c), cases[i].on);
    }
}

static void test_values(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines(
        ON "sign_csr_script=/a/sign,single_use_tokens,certificate_renewal_period=5");
    _cleanup_(conf_free) struct conf *other = conf_with_lines(ON "sign_csr_script=/a/sign");
    _cleanup_free_ char *path = NULL, *none = NULL;

    (void)state;
    assert_int_equal(conf_certmgr_script(c, CERTMGR_SIGN, &path), 0);
    assert_string_equal(path, "/a/sign");
    assert_int_equal(conf_certmgr_script(c, CERTMGR_VALIDATE, &none), 0);
    assert_null(none);
    assert_true(conf_certmgr_single_use(c));
    assert_false(conf_certmgr_single_use(other));
    assert_int_equal(conf_certmgr_period_min(c), 5);
    assert_int_equal(conf_certmgr_period_min(other), 1440);
}

static void test_check(void **state)
{
    static const struct {
        const char *lines, *ctld, *node; /* NULL: it can do its part */
    } cases[] = {
        { ON "sign_csr_script=/a", NULL, "needs CertmgrParameters=generate_csr_script=" },
        { ON "generate_csr_script=/a,get_node_cert_key_script=/b",
          "needs CertmgrParameters=sign_csr_script=", NULL },
        { ON "generate_csr_script=/a", "sign_csr_script", "get_node_cert_key_script" },
        { ON "sign_csr_script=a/b,generate_csr_script=/a,get_node_cert_key_script=c",
          "sign_csr_script wants an absolute path, not \"a/b\"",
          "get_node_cert_key_script wants an absolute path" },
        { ON "sign_csr_script=/a,certificate_renewal_period=soon", PERIOD, PERIOD },
        { ON "sign_csr_script=/a,certificate_renewal_period=0", PERIOD, PERIOD },
        { ON "sign_csr_script=/a,certificate_renewal_period=525601", PERIOD, PERIOD },
        { ON "sign_csr_script=/a,certificate_renewal_period=12345678901234567", PERIOD, PERIOD },
        { ON "sign_csr_script=/a,certificate_renewal_period=", PERIOD, PERIOD },
        { ON "sign_csr_script=/a,certificate_renewal_period=525600", NULL, "generate_csr" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_(conf_free) struct conf *c = conf_with_lines(cases[i].lines);

        for (int node = 0; node < 2; node++) {
            const char *want = node ? cases[i].node : cases[i].ctld;
            struct err err = { .text = "" };

            assert_int_equal(conf_certmgr_check(c, node, &err), want ? -EINVAL : 0);
            if (want && !strstr(err.text, want))
                fail_msg("case %zu: %s", i, err.text);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_on),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_check),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
