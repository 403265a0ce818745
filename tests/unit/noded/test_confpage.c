/* test_confpage.c - the configuration as slurmd tells it over HTTP */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "conf/conf.h"
#include "noded/link/confpage.h"

static void test_page(void **state)
{
    static const char text[] =
        "ClusterName=unit\nSlurmctldHost=head(10.0.0.1)\nSlurmctldPort=7000\n"
        "Licenses=lic:5\nNodeName=n1 CPUs=2\nPartitionName=p Nodes=ALL\n";
    static const char *const parts[] = {
        "{\n  \"slurm_conf\": {\n    \"AccountingStorageTRES\": [\n",
        "\n    \"ClusterName\": \"unit\",\n",
        "\n    \"SlurmctldPort\": 7000,\n",
        "\n    \"Licenses\": [\n      \"lic:5\"\n    ],\n",
        "\n        \"address\": \"10.0.0.1\",\n        \"machine\": \"head\"\n",
        "\n    \"BOOT_TIME\": 1700000000,\n",
        "\n    \"SLURM_CONF\": \"slurm.conf\",\n",
    };
    struct conf_text file = { "slurm.conf", text, sizeof(text) - 1 };
    struct conf *conf = NULL;
    _cleanup_free_ char *page = NULL;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    page = confpage_make(conf, INT64_C(1700000000000000));
    assert_non_null(page);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (!strstr(page, parts[i]))
            fail_msg("no %s", parts[i]);
    (void)conf_free(conf); /* always NULL */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_page) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
