/* test_conf_nodeline.c - NodeName lines that stand in no file */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "conf/conf_nodeline.h"

static struct conf *cluster_conf(void)
{
    static const char text[] =
        "ClusterName=c\nSlurmctldHost=h\nSlurmdPort=7001\nGresTypes=gpu,nic\n"
        "NodeName=n1\nNodeSet=fast Feature=fast\nNodeSet=some Nodes=n1\n"
        "PartitionName=p Nodes=ALL\n";
    struct conf_text file = { "slurm.conf", text, sizeof(text) - 1 };
    struct conf *c = NULL;
    struct err err = { .text = "" };

    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err), 0);
    return c;
}

static void test_lines(void **state)
{
    static const struct {
        const char *line;
        int rc;
        size_t nodes;
    } cases[] = {
        { "NodeName=d[1-3] CPUs=2 RealMemory=500 State=FUTURE", 0, 3 },
        { "nodename=d1 state=external feature=a,b gres=gpu:a100:2,nic:1", 0, 1 },
        { "NodeName=d1 Reason=\"not yet\" State=CLOUD", 0, 1 },
        { "NodeName=d1", 0, 1 },
        { "NodeName=d1 State=DYNAMIC", -EDOM, 0 },
        { "NodeName=d1 State=", -EINVAL, 0 },
        { "CPUs=2 NodeName=d1", -EINVAL, 0 },
        { "NodeName=DEFAULT CPUs=2", -EINVAL, 0 },
        { "NodeName=ALL CPUs=2", -EINVAL, 0 },
        { "NodeName=d1,d1", -EINVAL, 0 },
        { "NodeName=d[1-", -EINVAL, 0 },
        { "NodeName= CPUs=2", -EINVAL, 0 },
        { "NodeName=d1 Gres=fpga:1", -EINVAL, 0 },
        { "NodeName=d1 Gres=gpu:x:y:", -EINVAL, 0 },
        { "NodeName=d1 CPUs=0", -EINVAL, 0 },
        { "NodeName=d1 CPUs=9999999", -EINVAL, 0 },
        { "NodeName=d1 Port=70000", -EINVAL, 0 },
        { "NodeName=d1 NoSuch=1", -EINVAL, 0 },
        { "NodeName=d1\nPartitionName=x", -EINVAL, 0 },
        { "NodeName=../../etc CPUs=1", -EINVAL, 0 },
        { "include /etc/passwd", -EINVAL, 0 },
        { "", -EINVAL, 0 },
    };
    struct conf *cluster = cluster_conf();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct conf *nodes = NULL;
        struct err err = { .text = "" };
        int r = conf_parse_nodeline(cluster, cases[i].line, &nodes, &err);

        if (r != cases[i].rc)
            fail_msg("'%s' gives %d: %s", cases[i].line, r, err.text);
        assert_int_equal(r == 0, nodes != NULL);
        assert_int_equal(r == 0, err.text[0] == '\0');
        if (nodes)
            assert_int_equal(conf_nodes(nodes), cases[i].nodes);
        conf_free(nodes);
    }
    conf_free(cluster);
}

static void test_values(void **state)
{
    struct conf *cluster = cluster_conf(), *nodes = NULL;
    struct err err = { .text = "" };
    const struct conf_node *n;

    (void)state;
    assert_int_equal(conf_parse_nodeline(cluster,
                                         "NodeName=d1 Sockets=2 CoresPerSocket=3 Weight=9 "
                                         "Features=x NodeAddr=10.1.1.1 State=EXTERNAL",
                                         &nodes, &err),
                     0);
    n = conf_node(nodes, 0);
    assert_string_equal(n->name, "d1");
    assert_string_equal(n->hostname, "d1");
    assert_string_equal(n->addr, "10.1.1.1");
    assert_string_equal(n->state, "EXTERNAL");
    assert_int_equal(n->cpus, 6);
    assert_int_equal(n->weight, 9);
    assert_int_equal(n->port, 7001); /* the cluster's */
    conf_free(nodes);
    conf_free(cluster);
}

static void test_bounds(void **state)
{
    struct conf *cluster = cluster_conf(), *nodes = NULL;
    struct err err = { .text = "" };
    char name[128], *line = malloc(CONF_NODELINE_MAX + 2);

    (void)state;
    (void)snprintf(name, sizeof(name), "NodeName=%0*d", (int)CONF_NODE_NAME_MAX + 1, 7);
    assert_int_equal(conf_parse_nodeline(cluster, name, &nodes, &err), -EINVAL);
    assert_non_null(line);
    memset(line, 'x', CONF_NODELINE_MAX + 1);
    line[CONF_NODELINE_MAX + 1] = '\0';
    assert_int_equal(conf_parse_nodeline(cluster, line, &nodes, &err), -E2BIG);
    assert_null(nodes);
    free(line);
    conf_free(cluster);
}

static void test_node_sets(void **state)
{
    struct conf *c = cluster_conf();
    const char *feature = NULL, *nodes = NULL;

    (void)state;
    assert_true(conf_nodeset_line(c, "fast", &feature, &nodes));
    assert_string_equal(feature, "fast");
    assert_null(nodes);
    assert_true(conf_nodeset_line(c, "some", &feature, &nodes));
    assert_null(feature);
    assert_string_equal(nodes, "n1");
    assert_false(conf_nodeset_line(c, "none", &feature, &nodes));
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_node_sets),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
