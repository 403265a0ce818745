/* test_powerprog.c - which program switches the power of which node */
#include "model_util.h"

#include "base/bitmap.h"
#include "conf/conf.h"
#include "ctld/notify/powerprog.h"
#include "ctld/notify/programs.h"
#include "wire/errors.h"

static struct conf *read_conf(const char *more)
{
    struct conf_text file = { .name = "slurm.conf" };
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=n[0-3] CPUs=2\n"
                   "PartitionName=p Nodes=ALL\n%s",
                   more);
    file.text = text;
    file.len = strlen(text);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, &err), 0);
    return conf;
}

#define LINES                                                                                      \
    "ResumeProgram=/up\nSuspendProgram=here\nPowerAction=here Program=\"/down -q\"\n"              \
    "PowerAction=there Location=slurmd Program=/halt\n"

static void test_requests(void **state)
{
    static const struct {
        enum conf_key key;
        const char *action;
        int want;
    } cases[] = {
        { CONF_RESUME_PROGRAM, NULL, 0 },
        { CONF_RESUME_PROGRAM, "", 0 },
        { CONF_RESUME_PROGRAM, "here", 0 },
        { CONF_RESUME_PROGRAM, "there", ESLURM_INVALID_POWER_ACTION }, /* the node is not there */
        { CONF_SUSPEND_PROGRAM, "there", 0 },
        { CONF_REBOOT_PROGRAM, "there", 0 },
        { CONF_SUSPEND_PROGRAM, "/down", ESLURM_INVALID_POWER_ACTION },
        { CONF_SUSPEND_PROGRAM, "nowhere", ESLURM_INVALID_POWER_ACTION },
    };
    struct ctld ctld = { .conf = read_conf(LINES) };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(powerprog_check(&ctld, cases[i].key, cases[i].action), cases[i].want);
    conf_free(ctld.conf);
}

struct groups {
    char text[256];
};

static void note_group(void *ctx, const struct power_program *program, const struct bitmap *nodes)
{
    struct groups *g = ctx;
    size_t len = strlen(g->text);

    len += (size_t)snprintf(g->text + len, sizeof(g->text) - len, "%s%s", len ? " " : "",
                            program->path);
    BITMAP_FOREACH (nodes, i)
        len += (size_t)snprintf(g->text + len, sizeof(g->text) - len, ",%zu", (size_t)i);
}

static void name_action(struct cluster *c, uint32_t id, const char *action)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__NodeRecord *set = tx_node_patch(tx, EV(NODE_POWER), id);

    assert_int_equal(pb_set_str(&set->power_action, action), 0);
    apply_ok(c, tx);
}

static void test_groups(void **state)
{
    struct ctld ctld = { .conf = read_conf(LINES), .cluster = new_cluster() };
    _cleanup_(bitmap_free) struct bitmap *nodes = NULL;
    struct groups g = { .text = "" };

    (void)state;
    add_nodes(ctld.cluster, 4, 2);
    assert_int_equal(bitmap_new(ctld.cluster->nnodes + 1, &nodes), 0);
    bitmap_set_range(nodes, 0, 4);
    name_action(ctld.cluster, 1, "there");
    name_action(ctld.cluster, 2, "gone"); /* not in slurm.conf any more: the usual one */
    powerprog_each(&ctld, CONF_SUSPEND_PROGRAM, nodes, note_group, &g);
    assert_string_equal(g.text, "/down,0,2,3 /halt,1");
    g.text[0] = '\0';
    powerprog_each(&ctld, CONF_REBOOT_PROGRAM, nodes, note_group, &g); /* there is none */
    assert_string_equal(g.text, "/halt,1");
    g.text[0] = '\0';
    bitmap_zero(nodes);
    powerprog_each(&ctld, CONF_SUSPEND_PROGRAM, nodes, note_group, &g);
    assert_string_equal(g.text, "");
    cluster_free(ctld.cluster);
    conf_free(ctld.conf);
}

static void test_arguments(void **state)
{
    struct ctld ctld = { .conf = read_conf(LINES), .cluster = new_cluster() };
    struct program *p = program_new(&ctld, "SuspendProgram");
    struct power_program program;

    (void)state;
    add_nodes(ctld.cluster, 4, 2);
    assert_true(powerprog_of(&ctld, CONF_SUSPEND_PROGRAM, ctld.cluster->nodes[0]->rec, &program));
    assert_null(powerprog_nodes(p));
    powerprog_fill(p, &program);
    program_arg(p, "n[0-3]");
    assert_string_equal(program_arg_nth(p, 0), "-q");
    assert_string_equal(powerprog_nodes(p), "n[0-3]");
    program_free(p);
    cluster_free(ctld.cluster);
    conf_free(ctld.conf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_arguments),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
