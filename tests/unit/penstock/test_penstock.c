/* test_penstock.c - the private cluster's folder and the slurm.conf written for it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "penstock/dashboard.h"
#include "penstock/simtopo.h"

static void test_folder(void **state)
{
    static const struct {
        const char *dir;
        int rc;
        const char *abs;
    } cases[] = {
        { "/tmp/x", 0, "/tmp/x" },      { "/tmp/x///", 0, "/tmp/x" },
        { "", -EINVAL, NULL },          { "/tmp/a b", -EINVAL, NULL },
        { "/tmp/a#b", -EINVAL, NULL },  { "/tmp/50%", -EINVAL, NULL },
        { "/tmp/it's", -EINVAL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct instance in;
        struct err err = { .text = "" };

        assert_int_equal(instance_init(&in, cases[i].dir, &err), cases[i].rc);
        assert_int_equal(cases[i].rc == 0, err.text[0] == '\0');
        if (cases[i].abs)
            assert_string_equal(in.dir, cases[i].abs);
    }
}

static void test_long_folder(void **state)
{
    char dir[INSTANCE_PATH_MAX + 16];
    struct instance in;
    struct err err = { .text = "" };

    (void)state;
    memset(dir, 'x', sizeof(dir) - 1);
    dir[0] = '/';
    dir[sizeof(dir) - 1] = '\0';
    assert_int_equal(instance_init(&in, dir, &err), -ENAMETOOLONG);
    assert_true(err.text[0]);
}

static void test_default_folder(void **state)
{
    struct instance in;

    (void)state;
    assert_int_equal(setenv("HOME", "/home/alice", 1), 0);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(instance_init(&in, NULL, NULL), 0);
    assert_string_equal(in.dir, "/home/alice/.local/share/penstock/default");
    assert_string_equal(in.conf, "/home/alice/.local/share/penstock/default/etc/slurm.conf");
    assert_int_equal(setenv("XDG_STATE_HOME", "/var/alice", 1), 0);
    assert_int_equal(instance_init(&in, NULL, NULL), 0);
    assert_string_equal(in.dir, "/var/alice/penstock/default");
}

static void test_conf_is_good(void **state)
{
    struct instance in;
    struct setup s;
    char *text = NULL;
    struct conf *conf = NULL;
    struct conf_problems problems = { 0 };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(instance_init(&in, "/tmp/private", &err), 0);
    assert_int_equal(setup_init(&s, 5, 3, &err), 0);
    assert_int_equal(setup_conf_text(&s, &in, &text), 0);
    assert_int_equal(conf_load_text(&(struct conf_text){ "slurm.conf", text, strlen(text) }, 1,
                                    CONF_FULL, &conf, &problems, &err),
                     0);
    for (size_t i = 0; i < problems.n; i++)
        print_message("# %s\n", problems.items[i].text);
    assert_int_equal(problems.n, 0);
    assert_int_equal(conf_nodes(conf), 5);
    assert_int_equal(conf_parts(conf), 1);
    assert_int_equal(conf_ctld_port(conf), s.ctld_port);
    for (size_t i = 0; i < 5; i++) {
        const struct conf_node *n = conf_node(conf, i);

        assert_int_equal(n->cpus, 3);
        assert_int_equal(n->port, s.node_ports[i]);
        assert_string_equal(n->addr, "127.0.0.1");
        assert_true(n->real_memory_mib >= 3);
    }
    conf_problems_done(&problems);
    conf_free(conf);
    free(text);
    setup_done(&s);
}

/* Topologies are those beside the slurm.conf that is simulated; without a file all is flat. */
static void test_topology_files(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nNodeName=n[1-4] CPUs=1\n"
                               "PartitionName=p Nodes=ALL\n";
    static const char yaml[] = "- topology: B\n  block:\n    block_sizes: [2]\n    blocks:\n"
                               "    - {block: left, nodes: 'n[1,3]'}\n"
                               "    - {block: right, nodes: 'n[2,4]'}\n";
    char dir[] = "/tmp/test_penstock.XXXXXX", path[64], yaml_path[64];
    struct conf *conf = NULL;
    struct sim_machine *m = NULL;
    struct err err = { .text = "" };
    FILE *f;

    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/slurm.conf", dir);
    (void)snprintf(yaml_path, sizeof(yaml_path), "%s/topology.yaml", dir);
    assert_int_equal(conf_load_text(&(struct conf_text){ "slurm.conf", text, strlen(text) }, 1,
                                    CONF_FULL, &conf, NULL, &err),
                     0);
    assert_int_equal(machine_from_conf(conf, &m, &err), 0);
    assert_int_equal(simtopo_conf(conf, path, m, &err), 0);
    assert_int_equal(topo_get_spec(machine_topology(m))->kind, TOPO_FLAT);
    f = fopen(yaml_path, "we");
    assert_true(f && fputs(yaml, f) >= 0 && fclose(f) == 0);
    assert_int_equal(simtopo_conf(conf, path, m, &err), 0);
    assert_string_equal(topo_get_spec(machine_topology(m))->units[1].name, "right");
    assert_int_equal(unlink(yaml_path), 0);
    assert_int_equal(rmdir(dir), 0);
    m = machine_free(m);
    conf_free(conf);
}

/* Without a controller there is no token. */
static void test_no_dashboard(void **state)
{
    struct instance in;
    struct setup s;
    char *text = NULL, *address = NULL;
    struct conf *conf = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(instance_init(&in, "/tmp/nosuch-private", &err), 0);
    assert_int_equal(setup_init(&s, 1, 1, &err), 0);
    assert_int_equal(setup_conf_text(&s, &in, &text), 0);
    assert_int_equal(conf_load_text(&(struct conf_text){ "slurm.conf", text, strlen(text) }, 1,
                                    CONF_FULL, &conf, NULL, &err),
                     0);
    assert_true(dashboard_up(conf, &address, &err) < 0);
    assert_null(address);
    assert_true(err.text[0]);
    conf_free(conf);
    free(text);
    setup_done(&s);
}

static void test_ports_differ(void **state)
{
    struct setup s;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(setup_init(&s, SETUP_MAX_NODES, 1, &err), 0);
    for (uint32_t i = 0; i < s.nodes; i++) {
        assert_int_not_equal(s.node_ports[i], s.ctld_port);
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(s.node_ports[i], s.node_ports[k]);
    }
    setup_done(&s);
    assert_int_equal(setup_init(&s, 0, 1, &err), -ERANGE);
    assert_int_equal(setup_init(&s, SETUP_MAX_NODES + 1, 1, &err), -ERANGE);
    assert_int_equal(setup_init(&s, 1, 5000, &err), -ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),         cmocka_unit_test(test_long_folder),
        cmocka_unit_test(test_default_folder), cmocka_unit_test(test_conf_is_good),
        cmocka_unit_test(test_topology_files), cmocka_unit_test(test_ports_differ),
        cmocka_unit_test(test_no_dashboard),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
