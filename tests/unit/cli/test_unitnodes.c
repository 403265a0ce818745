/* test_unitnodes.c - functions in lists of nodes: which unit is meant */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/query/unitnodes.h"

static Pst__TopologyUnit units[3], *list[] = { &units[0], &units[1], &units[2] };

static Pst__TopologyReply a_topology(const char *kind, bool aggregated, uint32_t level)
{
    static const char *const names[] = { "all", "b1", "b2" };
    static const char *const nodes[] = { "n[1-4]", "n[1-2]", "n[3-4]" };
    Pst__TopologyReply t = PST__TOPOLOGY_REPLY__INIT;

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        pst__topology_unit__init(&units[i]);
        units[i].name = (char *)(uintptr_t)names[i];
        units[i].nodes = (char *)(uintptr_t)nodes[i];
    }
    units[0].aggregated = aggregated;
    units[0].level = level;
    t.kind = (char *)(uintptr_t)kind;
    t.units = list;
    t.n_units = ARRAY_SIZE(list);
    return t;
}

static const struct {
    const char *kind, *item, *nodes;
} cases[] = {
    { "block", "block{b1}", "n[1-2]" },
    { "block", "BLOCK{b2}", "n[3-4]" },
    { "block", "block{all}", "n[1-4]" },
    { "block", "blockwith{n3}", "n[3-4]" }, /* the base block, not the whole */
    { "block", "blockwith{n9}", NULL },
    { "block", "block{b3}", NULL },
    { "block", "block{}", NULL },
    { "block", "block{b1", NULL },
    { "block", "block", NULL },
    { "block", "blockwits{n3}", NULL },
    { "block", "switch{b1}", NULL }, /* of another kind of topology */
    { "tree", "switch{b1}", "n[1-2]" },
    { "tree", "switchwith{n1}", "n[1-2]" },
    { "tree", "tree{b1}", NULL },
    { "ring", "ring{b2}", "n[3-4]" },
    { "torus", "toruswith{n4}", "n[3-4]" },
};

static void test_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool tree = strcmp(cases[i].kind, "tree") == 0;
        Pst__TopologyReply t = a_topology(cases[i].kind, !tree, tree);
        const char *nodes = unit_nodes_of(&t, cases[i].item);

        if (strcmp(nodes ? nodes : "-", cases[i].nodes ? cases[i].nodes : "-") != 0)
            fail_msg("%s: %s", cases[i].item, nodes ? nodes : "-");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
