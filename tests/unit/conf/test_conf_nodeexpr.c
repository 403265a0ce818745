/* test_conf_nodeexpr.c - where nodes are listed: host lists, node sets, ALL, functions, what is
 * taken away */
#include "conf_util.h"

/* The nodes of a partition with this list; NULL and what is told. */
static void nodes_are(const char *list, const char *want, const char *sentence)
{
    char lines[512], report[512] = "";
    struct conf *c;

    (void)snprintf(lines, sizeof(lines),
                   "NodeName=n[1-4] Features=fast\nNodeName=g[1-2] Features=gpu,fast\n"
                   "NodeSet=gpus Feature=gpu\nNodeSet=mixed Feature=gpu Nodes=n1\n"
                   "PartitionName=p Nodes=%s\n",
                   list);
    if (sentence)
        (void)snprintf(report, sizeof(report), "slurm.conf:8: error: partition p: %s\n", sentence);
    c = conf_says(lines, report);
    assert_int_equal(c == NULL, want == NULL);
    if (c)
        assert_string_equal(conf_part(c, 0)->nodes, want);
    conf_free(c);
}

static void test_lists(void **state)
{
    (void)state;
    nodes_are("n[1-2],n4", "n[1-2,4]", NULL);
    nodes_are("n4,n1,n1", "n[1,4]", NULL); /* order and repetition do not matter */
    nodes_are("ALL", "n[1-4],g[1-2]", NULL);
    nodes_are("all", "n[1-4],g[1-2]", NULL);
    nodes_are("\"\"", "", NULL);
    nodes_are("gpus", "g[1-2]", NULL);
    nodes_are("mixed", "n1,g[1-2]", NULL);
    nodes_are("feature{gpu},n3", "n3,g[1-2]", NULL);
    nodes_are("node{n[2-3]}", "n[2-3]", NULL);
    nodes_are("feature{none}", "", NULL);
}

/* What follows a minus is taken from what stands before it. */
static void test_minus(void **state)
{
    (void)state;
    nodes_are("ALL,-gpus", "n[1-4]", NULL);
    nodes_are("ALL,-n[2-3]", "n[1,4],g[1-2]", NULL);
    nodes_are("-n1,n1", "n1", NULL);
    nodes_are("ALL,-ALL", "", NULL);
}

static void test_mistakes(void **state)
{
    (void)state;
    nodes_are("n[1-5]", NULL, "no NodeName line defines n5");
    nodes_are("-n9", NULL, "no NodeName line defines n9");
    nodes_are("feature{gpu", NULL, "\"feature{gpu\" lacks a closing brace");
    nodes_are("colour{red}", NULL,
              "function colour{} cannot be used here; feature{} and node{} can");
    nodes_are("n[5-8]", NULL,
              "no NodeName line defines n5\n"
              "slurm.conf:8: error: partition p: no NodeName line defines n6\n"
              "slurm.conf:8: error: partition p: no NodeName line defines n7\n"
              "slurm.conf:8: error: partition p: 1 more nodes are not defined");
}

/* Nodes that may be made later need no line yet. */
static void test_later(void **state)
{
    struct conf *c =
        conf_says("MaxNodeCount=10\nNodeName=n[1-2]\nPartitionName=p Nodes=n[1-5]\n", "");

    (void)state;
    assert_string_equal(conf_part(c, 0)->nodes, "n[1-2]");
    assert_string_equal(conf_part(c, 0)->nodes_config, "n[1-5]");
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_minus),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_later),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
