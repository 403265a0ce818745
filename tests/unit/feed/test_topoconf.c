/* test_topoconf.c - topologies of files with what nodes of a configuration say of themselves */
#include "feed/topoconf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conf/topo/conf_topo.h"

static const char yaml[] = "- topology: B\n  block:\n    block_sizes: [2]\n    blocks:\n"
                           "    - {block: b1, nodes: 'n[1-2]'}\n    - {block: b2, nodes: 'n3'}\n";

/* 0 with the set, which the caller frees, else the error. */
static int load(const char *lines, struct toposet **ret, struct err *err)
{
    _cleanup_(conf_topos_free) struct conf_topos *files = NULL;
    struct conf_text file = { .name = "topology.yaml", .text = yaml, .len = sizeof(yaml) - 1 };
    char text[512];
    struct conf_text conf_file = { .name = "slurm.conf", .text = text };
    struct conf *conf = NULL;
    int r;

    conf_file.len =
        (size_t)snprintf(text, sizeof(text), "ClusterName=c\nSlurmctldHost=h\n%s", lines);
    assert_int_equal(conf_load_text(&conf_file, 1, CONF_FULL, &conf, NULL, err), 0);
    assert_int_equal(conf_topos_load_text(conf, &file, 1, &files, NULL, err), 0);
    r = topoconf_of_conf(files, conf, ret, err);
    conf_free(conf);
    return r;
}

static const struct topo_unit_spec *unit_of(struct toposet *ts, const char *name)
{
    const struct topo_spec *specs;
    size_t n = toposet_specs(ts, &specs);

    assert_int_equal(n, 1);
    for (size_t i = 0; i < specs[0].nunits; i++)
        if (strcmp(specs[0].units[i].name, name) == 0)
            return &specs[0].units[i];
    fail_msg("no unit %s", name);
    return NULL;
}

static void test_own_words(void **state)
{
    _cleanup_(toposet_free) struct toposet *ts = NULL;
    struct err err = { .text = "" };

    assert_int_equal(load("NodeName=n[1-3] CPUs=1\nNodeName=n4 CPUs=1 Topology=B:b2\n"
                          "PartitionName=p Nodes=ALL Topology=B\n",
                          &ts, &err),
                     0);
    assert_int_equal(unit_of(ts, "b1")->nnodes, 2);
    assert_int_equal(unit_of(ts, "b2")->nnodes, 2);
    assert_int_equal(unit_of(ts, "b2")->nodes[1], 3); /* n4 is the fourth */
}

static void test_refused(void **state)
{
    static const struct {
        const char *lines, *say;
    } cases[] = {
        { "NodeName=n[1-3] CPUs=1\nNodeName=n4 CPUs=1 Topology=B:b9\nPartitionName=p Nodes=ALL\n",
          "slurm.conf:4: Topology=B:b9 of node n4: " },
        { "NodeName=n[1-3] CPUs=1\nPartitionName=p Nodes=ALL Topology=X\n",
          "slurm.conf:4: partition p: there is no topology X" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct toposet *ts = NULL;
        struct err err = { .text = "" };

        assert_int_equal(load(cases[i].lines, &ts, &err), -EINVAL);
        assert_null(ts);
        if (strncmp(err.text, cases[i].say, strlen(cases[i].say)) != 0)
            fail_msg("not \"%s\": %s", cases[i].say, err.text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_words),
                                               cmocka_unit_test(test_refused) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
