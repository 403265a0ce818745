/* test_conf_regmem.c - SlurmctldParameters=node_reg_mem_percent */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/cloud/conf_regmem.h"

static struct conf *load(const char *parameters)
{
    struct conf_text file = { .name = "slurm.conf" };
    struct err err = { .text = "" };
    struct conf *c = NULL;
    char text[512];

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n CPUs=2\n"
                   "PartitionName=p Nodes=ALL\nSlurmctldParameters=%s\n",
                   parameters);
    file.text = text;
    file.len = strlen(text);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err), 0);
    return c;
}

static void test_numbers(void **state)
{
    static const struct {
        const char *text;
        double here, cloud;
        int check;
    } cases[] = {
        { "cloud_dns", 100, 90, 0 },
        { "node_reg_mem_percent=95", 95, 95, 0 },
        { "cloud_dns,node_reg_mem_percent=99.5,idle_on_node_suspend", 99.5, 99.5, 0 },
        { "node_reg_mem_percent=0", 0, 0, 0 },
        { "node_reg_mem_percent=100", 100, 100, 0 },
        { "node_reg_mem_percent=100.1", 100, 90, -EINVAL },
        { "node_reg_mem_percent=-5", 100, 90, -EINVAL },
        { "node_reg_mem_percent=1e1", 100, 90, -EINVAL },
        { "node_reg_mem_percent=5%", 100, 90, -EINVAL },
        { "node_reg_mem_percent=.", 100, 90, -EINVAL },
        { "node_reg_mem_percent=1.2.3", 100, 90, -EINVAL },
        { "node_reg_mem_percent=00000000000000000095", 100, 90, -EINVAL },
        { "node_reg_mem_percent=", 100, 90, -EINVAL },
        { "node_reg_mem_percent", 100, 90, -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(conf_free) struct conf *c = load(cases[i].text);
        struct err err = { .text = "" };

        assert_true(conf_reg_mem_pct(c, false) == cases[i].here);
        assert_true(conf_reg_mem_pct(c, true) == cases[i].cloud);
        assert_int_equal(conf_reg_mem_check(c, &err), cases[i].check);
        assert_int_equal(err.text[0] != '\0', cases[i].check != 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
