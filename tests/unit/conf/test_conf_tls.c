/* test_conf_tls.c - TLSType and TLSParameters: which files, for whom */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "conf_util.h"
#include "conf/tls/conf_tls.h"

static void test_none(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines("");
    struct tls_config t;

    (void)state;
    assert_false(conf_use_tls(c));
    assert_int_equal(conf_tls(c, CONF_TLS_CTLD, &t), 0);
    assert_int_equal(t.kind, TLS_NONE);
    assert_null(t.ca_file);
}

static void test_files(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines(
        "TLSType=tls/s2n\nTLSParameters=ca_cert_file=/x/ca.pem,load_system_certificates=yes");
    struct tls_config t;

    (void)state;
    assert_true(conf_use_tls(c));
    assert_int_equal(conf_tls(c, CONF_TLS_SLURMD, &t), 0);
    assert_int_equal(t.kind, TLS_FILES);
    assert_string_equal(t.ca_file, "/x/ca.pem");
    assert_string_equal(t.cert_file, "/etc/slurm/slurmd_cert.pem");
    assert_string_equal(t.key_file, "/etc/slurm/slurmd_cert_key.pem");
    assert_true(t.system_certs && t.need_cert && !t.any_server);
    tls_config_done(&t);
    assert_int_equal(conf_tls(c, CONF_TLS_COMMAND, &t), 0);
    assert_string_equal(t.ca_file, "/x/ca.pem");
    assert_null(t.cert_file);
    assert_false(t.need_cert);
    tls_config_done(&t);
}

static void test_named(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines(
        "TLSType=tls/openssl\nTLSParameters=ctld_cert_file=/a,ctld_cert_key_file=/b,load_system_certificates=no");
    struct tls_config t;

    (void)state;
    assert_int_equal(conf_tls(c, CONF_TLS_CTLD, &t), 0);
    assert_string_equal(t.cert_file, "/a");
    assert_string_equal(t.key_file, "/b");
    assert_string_equal(t.ca_file, "/etc/slurm/ca_cert.pem");
    assert_false(t.system_certs);
    tls_config_done(&t);
}

static void test_auto(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines("TLSType=tls/auto");
    struct tls_config t;

    (void)state;
    assert_int_equal(conf_tls(c, CONF_TLS_CTLD, &t), 0);
    assert_int_equal(t.kind, TLS_AUTO);
    assert_true(t.any_server && t.need_cert && !t.cert_file && !t.ca_file);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_auto),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
