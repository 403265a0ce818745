/* test_fetchtls.c - which configurations a host without an authority's certificate may take */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "configless/confbundle.h"
#include "configless/fetchtls.h"

static int judge(const char *line, struct err *err)
{
    char text[256];
    struct conf_shared_file file = { .name = (char *)(uintptr_t) "slurm.conf", .data = text };
    struct conf_shared s = { .files = &file, .n = 1 };
    Pst__ConfBundle *b;
    int r;

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n\nPartitionName=p Nodes=n\n%s\n",
                   line);
    file.len = strlen(text);
    assert_int_equal(confbundle_make(&s, true, 7, &b), 0);
    err->text[0] = '\0';
    r = fetchtls_judge(b, err);
    pst__conf_bundle__free_unpacked(b, NULL);
    return r;
}

static void test_judge(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(judge("", &err), 0);
    assert_int_equal(judge("TLSType=tls/none", &err), 0);
    assert_int_equal(judge("TLSType=tls/auto", &err), 0);
    assert_int_equal(judge("TLSType=tls/s2n", &err), -EPERM);
    assert_non_null(strstr(err.text, "TLSType=tls/s2n there, and this host has no certificate"));
    assert_non_null(strstr(err.text, "--ca-cert-file"));
    assert_int_equal(judge("TLSType=tls/openssl\nTLSParameters=ca_cert_file=/a", &err), -EPERM);
}

static void test_authority(void **state)
{
    struct err err = { .text = "" };
    struct tls_ctx *ctx = NULL;

    (void)state;
    assert_int_equal(fetchtls_new("/no/such/ca.pem", &ctx, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/no/such/ca.pem cannot be read"));
    assert_null(ctx);
    assert_int_equal(fetchtls_new(NULL, &ctx, &err), 0);
    assert_non_null(ctx);
    ctx = tls_ctx_unref(ctx);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge),
        cmocka_unit_test(test_authority),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
