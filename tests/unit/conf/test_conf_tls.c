/* test_conf_tls.c - TLSType and TLSParameters: which files, for whom */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_util.h"
#include "base/cleanup.h"
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

static void test_system_certificates(void **state)
{
    static const struct {
        const char *params;
        bool wanted;
    } rows[] = {
        { "load_system_certificates", true },       { "load_system_certificates=True", true },
        { "load_system_certificates=1", true },     { "load_system_certificates=false", false },
        { "load_system_certificates=0", false },    { "load_system_certificates=maybe", false },
        { "load_system_certificates=yesno", false }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = NULL;
        struct tls_config t;
        int r = asprintf(&text, "TLSType=tls/s2n\nTLSParameters=%s", rows[i].params);
        _cleanup_(conf_free) struct conf *c = conf_with_lines(r < 0 ? "" : text);

        assert_int_equal(conf_tls(c, CONF_TLS_COMMAND, &t), 0);
        assert_int_equal(t.system_certs, rows[i].wanted);
        tls_config_done(&t);
    }
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

/* slurmrestd shows its own pair at https://, whatever TLSType is; towards daemons it has none. */
static void test_restd(void **state)
{
    _cleanup_(conf_free) struct conf *plain = conf_with_lines("");
    _cleanup_(conf_free) struct conf *named =
        conf_with_lines("TLSType=tls/s2n\nTLSParameters=restd_cert_file=/r,restd_cert_key_file=/k");
    struct tls_config t;

    (void)state;
    assert_int_equal(conf_restd_tls(plain, &t), 0);
    assert_int_equal(t.kind, TLS_FILES);
    assert_true(t.need_cert && !t.any_server && !t.system_certs);
    assert_string_equal(t.cert_file, "/etc/slurm/restd_cert.pem");
    assert_string_equal(t.key_file, "/etc/slurm/restd_cert_key.pem");
    assert_null(t.ca_file);
    tls_config_done(&t);
    assert_int_equal(conf_restd_tls(named, &t), 0);
    assert_string_equal(t.cert_file, "/r");
    assert_string_equal(t.key_file, "/k");
    tls_config_done(&t);
    assert_int_equal(conf_tls(named, CONF_TLS_RESTD, &t), 0);
    assert_null(t.cert_file);
    assert_false(t.need_cert);
    tls_config_done(&t);
}

/* Whose the files may be: SlurmUser's, and on nodes SlurmdUser's. */
static void test_owner_and_crl(void **state)
{
    _cleanup_(conf_free) struct conf *c = conf_with_lines(
        "TLSType=tls/s2n\nSlurmUser=1234\nTLSParameters=crl_file=/x/crl.pem,ca_cert_file=");
    struct tls_config t;

    (void)state;
    assert_true(conf_tls_has_files(c));
    assert_int_equal(conf_tls(c, CONF_TLS_CTLD, &t), 0);
    assert_int_equal(t.owner, conf_slurm_uid(c));
    assert_string_equal(t.crl_file, "/x/crl.pem");
    assert_string_equal(t.ca_file, "/etc/slurm/ca_cert.pem"); /* an empty word names nothing */
    tls_config_done(&t);
    assert_int_equal(conf_tls(c, CONF_TLS_SLURMD, &t), 0);
    assert_int_equal(t.owner, conf_slurmd_uid(c));
    assert_int_not_equal(conf_slurmd_uid(c), conf_slurm_uid(c));
    tls_config_done(&t);
}

/* slurmdbd.conf has words of its own, and a folder of its own. */
static void test_dbd(void **state)
{
    static const struct {
        const char *lines;
        enum tls_kind kind;
        const char *cert, *ca; /* below the folder; NULL: none */
    } cases[] = {
        { "", TLS_NONE, NULL, NULL },
        { "TLSType=tls/none\n", TLS_NONE, NULL, NULL },
        { "TLSType=tls/auto\n", TLS_AUTO, NULL, NULL },
        { "TLSType=tls/s2n\n", TLS_FILES, "/dbd_cert.pem", "/ca_cert.pem" },
        { "TLSType=tls/s2n\nTLSParameters=ctld_cert_file=/no,dbd_cert_file=/d\n", TLS_FILES, "/d",
          "/ca_cert.pem" },
    };
    char dir[64] = "/tmp/penstock-tls-XXXXXX", file[96];

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(file, sizeof(file), "%s/slurmdbd.conf", dir);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct conf_dbd *c = NULL;
        struct conf_problems problems;
        struct tls_config t;
        FILE *f = fopen(file, "w");

        assert_non_null(f);
        assert_int_equal(fchmod(fileno(f), 0600), 0);
        assert_true(fprintf(f, "SlurmUser=%u\n%s", getuid(), cases[i].lines) > 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(conf_dbd_load(file, &c, &problems, NULL), 0);
        conf_problems_done(&problems);
        assert_int_equal(conf_dbd_tls(c, &t), 0);
        assert_int_equal(t.kind, cases[i].kind);
        assert_int_equal(t.need_cert, t.kind != TLS_NONE);
        assert_int_equal(t.cert_file != NULL, cases[i].cert != NULL);
        if (cases[i].cert) {
            assert_non_null(strstr(t.cert_file, cases[i].cert));
            assert_non_null(strstr(t.ca_file, cases[i].ca));
            assert_memory_equal(t.key_file, dir, strlen(dir));
            assert_int_equal(t.owner, getuid());
        }
        tls_config_done(&t);
        c = conf_dbd_free(c);
    }
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_named), cmocka_unit_test(test_auto),
        cmocka_unit_test(test_restd), cmocka_unit_test(test_owner_and_crl),
        cmocka_unit_test(test_dbd),   cmocka_unit_test(test_system_certificates),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
