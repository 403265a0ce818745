/* test_conf_nodetable.c - a node of the configuration by its name */
#include "conf_util.h"

#include "conf/conf_priv.h"

static void test_find(void **state)
{
    struct conf c = { 0 };
    struct conf_node nodes[5000];
    char names[5000][16];

    (void)state;
    assert_int_equal(conf_node_index(&c, "n0"), UINT32_MAX); /* no table yet */
    c.nodes = nodes;
    for (uint32_t i = 0; i < 5000; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%u", i);
        nodes[i] = (struct conf_node){ .name = names[i] };
        assert_int_equal(conf_node_reserve(&c, i + 1), 0); /* it grows, and finds the former ones */
        c.nnodes = i + 1;
        conf_node_insert(&c, i);
        assert_true(c.node_table_size >= 2 * c.nnodes);
    }
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(conf_node_index(&c, names[i]), i);
    assert_int_equal(conf_node_index(&c, "n5000"), UINT32_MAX);
    assert_int_equal(conf_node_index(&c, "N1"), UINT32_MAX);
    assert_int_equal(conf_node_index(&c, ""), UINT32_MAX);
    free(c.node_table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
