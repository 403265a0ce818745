/* test_confserve.c - without enable_configless every node is current, credentials say nothing */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ctld/core/service.h"
#include "ctld/front/confserve.h"

extern const struct ctld_service confserve_service;

static void test_disabled(void **state)
{
    static const struct conf_text text = { "slurm.conf", "ClusterName=c\nSlurmctldHost=h\n", 30 };
    uint8_t bytes[32] = { 1 };
    ProtobufCBinaryData digest = { sizeof(bytes), bytes };
    Pst__StepCredential cred = PST__STEP_CREDENTIAL__INIT;
    struct err err = { .text = "" };
    struct ctld ctld = { 0 };
    struct conf *conf;

    (void)state;
    assert_int_equal(conf_load_text(&text, 1, CONF_CLIENT, &conf, NULL, &err), 0);
    assert_int_equal(confserve_service.check(&ctld, conf, &err), 0);
    assert_int_equal(confserve_service.start(&ctld, &err), 0);
    assert_null(confserve_bundle(&ctld));
    assert_true(confserve_is_current(&ctld, true, &digest));
    confserve_fill(&ctld, &cred);
    assert_false(cred.has_conf_digest);
    confserve_service.free(&ctld);
    conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_disabled) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
