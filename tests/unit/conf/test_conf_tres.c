/* test_conf_tres.c - names of trackable resources in keys */
#include "conf_util.h"

#include "base/cleanup.h"
#include "conf/conf_tres.h"

static void test_kinds(void **state)
{
    static const struct {
        const char *name;
        bool known;
    } cases[] = {
        { "cpu", true },       { "CPU", true },     { "gres/gpu:a100", true },
        { "License/x", true }, { "ic/ofed", true }, { "fs/lustre", true },
        { "bb/x", true },      { "vmem", true },    { "gres", false },
        { "gres/", false },    { "wombat", false }, { "cpus", false },
        { "", false },         { "x/gpu", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(conf_tres_kind(cases[i].name, strlen(cases[i].name)), cases[i].known);
    assert_true(conf_tres_kind("cpu=1", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
