/* test_conf_power.c - PowerAction lines, and what keys and requests name by them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/cloud/conf_power.h"

static int load(const char *more, struct conf **ret, struct err *err)
{
    struct conf_text file = { .name = "slurm.conf" };
    char text[2048];

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n CPUs=2\n"
                   "PartitionName=p Nodes=ALL\n%s",
                   more);
    file.text = text;
    file.len = strlen(text);
    return conf_load_text(&file, 1, CONF_FULL, ret, NULL, err);
}

static void test_names(void **state)
{
    _cleanup_(conf_free) struct conf *c = NULL;
    struct err err = { .text = "" };
    struct power_program p;

    (void)state;
    assert_int_equal(load("ResumeProgram=cloud-on\nSuspendProgram=/sbin/off\nRebootProgram=boot\n"
                          "PowerAction=cloud-on Location=slurmctld Program=\"/bin/on  -v eu\"\n"
                          "PowerAction=boot Location=slurmd Program=/bin/boot\n"
                          "PowerAction=plain Program=/bin/plain\n",
                          &c, &err),
                     0);
    assert_true(conf_power_program(c, CONF_RESUME_PROGRAM, NULL, &p));
    assert_string_equal(p.action, "cloud-on");
    assert_false(p.at_node);
    assert_string_equal(p.path, "/bin/on");
    assert_int_equal(p.nargs, 2);
    assert_string_equal(p.args[0], "-v");
    assert_string_equal(p.args[1], "eu");
    assert_true(conf_power_program(c, CONF_SUSPEND_PROGRAM, "", &p));
    assert_null(p.action);
    assert_string_equal(p.path, "/sbin/off");
    assert_int_equal(p.nargs, 0);
    assert_true(conf_power_program(c, CONF_REBOOT_PROGRAM, NULL, &p));
    assert_true(p.at_node);
    assert_true(conf_power_program(c, CONF_SUSPEND_PROGRAM, "plain", &p)); /* of a request */
    assert_string_equal(p.path, "/bin/plain");
    assert_false(p.at_node); /* slurmctld, unless it says otherwise */
    assert_false(conf_power_program(c, CONF_SUSPEND_PROGRAM, "Plain", &p));
    assert_false(conf_power_program(c, CONF_SUSPEND_PROGRAM, "/sbin/off", &p));
    assert_false(conf_power_program(c, CONF_RESUME_FAIL_PROGRAM, NULL, &p));
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *lines, *want;
    } cases[] = {
        { "PowerAction=a", "PowerAction=a: Program is missing" },
        { "PowerAction=a Program=\"  \"", "Program is missing" },
        { "PowerAction=a Program=bin/a", "Program is not an absolute path" },
        { "PowerAction=a/b Program=/bin/a", "the name may hold letters" },
        { "PowerAction=-a Program=/bin/a", "the name may hold letters" },
        { "PowerAction=a Program=/bin/a\nPowerAction=a Program=/bin/b", "of that name already" },
        { "PowerAction=a Program=/bin/a Location=node", "Location=node is not known" },
        { "ResumeProgram=a\nPowerAction=a Program=/bin/a Location=slurmd",
          "ResumeProgram=a: this PowerAction has Location=slurmd" },
        { "ResumeFailProgram=a\nPowerAction=a Program=/bin/a Location=slurmd",
          "ResumeFailProgram=a: this PowerAction has Location=slurmd" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(conf_free) struct conf *c = NULL;
        struct err err = { .text = "" };

        assert_int_equal(load(cases[i].lines, &c, &err), -EINVAL);
        if (!strstr(err.text, cases[i].want))
            fail_msg("case %zu: %s", i, err.text);
    }
}

static void test_many(void **state)
{
    _cleanup_(conf_free) struct conf *c = NULL;
    struct err err = { .text = "" };
    char text[2048] = "";
    size_t len = 0;

    (void)state;
    for (unsigned i = 0; i < 40; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "PowerAction=a%u Program=/a%u\n", i,
                                i);
    assert_int_equal(load(text, &c, &err), 0);
    for (unsigned i = 0; i < 40; i++) {
        struct power_program p;
        char name[16];

        (void)snprintf(name, sizeof(name), "a%u", i);
        assert_true(conf_power_program(c, CONF_REBOOT_PROGRAM, name, &p));
        assert_string_equal(p.path + 1, name);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
