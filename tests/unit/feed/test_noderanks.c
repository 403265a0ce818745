/* test_noderanks.c - the order in which nodes are numbered */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/topo/conf_topo.h"
#include "feed/noderanks.h"

static const char blocks[] = "BlockName=b1 Nodes=n[9-10]\nBlockName=b2 Nodes=n[1-2]\n"
                             "BlockSizes=2\n";
static const char tree[] = "SwitchName=top Switches=s[1-2]\nSwitchName=s1 Nodes=n[3-4]\n"
                           "SwitchName=s2 Nodes=n[1-2,4]\n";

static const struct {
    const char *plugin, *param, *file, *names;
} cases[] = {
    { "flat", "", "", "n1 n2 n3 n4 n9 n10" },
    { "block", "", blocks, "n1 n2 n3 n4 n9 n10" },
    { "block", "BlockAsNodeRank", blocks, "n3 n4 n9 n10 n1 n2" },
    { "block", "SwitchAsNodeRank", blocks, "n1 n2 n3 n4 n9 n10" }, /* not a tree */
    { "tree", "switchasnoderank", tree, "n9 n10 n3 n4 n1 n2" },    /* n4: of its first leaf */
    { "tree", "BlockAsNodeRank", tree, "n1 n2 n3 n4 n9 n10" },
};

static void test_orders(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char slurm[512], names[64] = "";
        struct conf_text conf = { .name = "slurm.conf", .text = slurm };
        struct conf_text file = { .name = "topology.conf",
                                  .text = cases[i].file,
                                  .len = strlen(cases[i].file) };
        _cleanup_(conf_free) struct conf *c = NULL;
        _cleanup_(conf_topos_free) struct conf_topos *topos = NULL;
        _cleanup_free_ size_t *order = NULL;
        struct err err = { .text = "" };

        conf.len = (size_t)snprintf(
            slurm, sizeof(slurm),
            "ClusterName=c\nSlurmctldHost=h\nNodeName=n[10,9] CPUs=1\nNodeName=n[4,3,2,1] "
            "CPUs=1\nPartitionName=p Nodes=ALL\nTopologyPlugin=topology/%s\n%s%s\n",
            cases[i].plugin, cases[i].param[0] ? "TopologyParam=" : "", cases[i].param);
        if (conf_load_text(&conf, 1, CONF_FULL, &c, NULL, &err) < 0 ||
            conf_topos_load_text(c, &file, 1, &topos, NULL, &err) < 0)
            fail_msg("%zu: %s", i, err.text);
        assert_int_equal(noderanks_wanted(c), cases[i].param[0] != '\0');
        order = noderanks_order(c, topos);
        for (size_t k = 0; k < conf_nodes(c); k++) {
            size_t len = strlen(names);

            (void)snprintf(names + len, sizeof(names) - len, "%s%s", k ? " " : "",
                           conf_node(c, order[k])->name);
        }
        assert_string_equal(names, cases[i].names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
