/* test_nodecert.c - which certificate a node shows, and what it asks for one with */
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
#include "base/process/tlsconfig.h"
#include "noded/link/certask.h"
#include "noded/link/nodecert.h"

/* Without scripts everything is as the configuration names it. */
static void test_no_scripts(void **state)
{
    struct noded d = { .spool = (char *)"/spool",
                       .name = (char *)"n1",
                       .conf = conf_with_lines("") };
    struct tls_config config = { .cert_file = strdup("/a") };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(nodecert_begin(&d, &err), 0);
    assert_null(d.cert);
    assert_int_equal(nodecert_fill(&d, &config), 0);
    assert_string_equal(config.cert_file, "/a");
    assert_false(nodecert_child_exited(&d, 1, 0));
    nodecert_close(d.cert);
    assert_null(nodecert_free(d.cert));
    tls_config_done(&config);
    d.conf = conf_free(d.conf);
}

static void test_missing_scripts(void **state)
{
    struct noded d = { .conf = conf_with_lines("TLSType=tls/s2n\nCertmgrType=certmgr/script") };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(nodecert_begin(&d, &err), -EINVAL);
    assert_non_null(strstr(err.text, "generate_csr_script"));
    assert_null(d.cert);
    d.conf = conf_free(d.conf);
}

/* Nobody listens: the reason is kept, and a token would not help. */
static void test_nobody_answers(void **state)
{
    struct noded d = { .name = (char *)"n1",
                       .conf = conf_with_lines(
                           "SlurmctldPort=1\nSlurmctldHost=h2(127.0.0.1)\nMessageTimeout=2") };
    struct err err = { .text = "" };
    struct certask *a;

    (void)state;
    assert_int_equal(certask_new(&d, NULL, "token", "csr", &a), 0);
    assert_null(certask_certificate(a, &err)); /* not asked yet */
    certask_run(a);
    assert_null(certask_certificate(a, &err));
    assert_non_null(strstr(err.text, "the controller cannot be asked for a certificate"));
    assert_false(certask_was_refused(a));
    a = certask_free(a);
    d.conf = conf_free(d.conf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_scripts),
        cmocka_unit_test(test_missing_scripts),
        cmocka_unit_test(test_nobody_answers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
