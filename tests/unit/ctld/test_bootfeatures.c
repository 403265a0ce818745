/* test_bootfeatures.c - which nodes may boot for the features of a job, with which features, and
 * what a registration says of them */
#include "model_util.h"

#include "base/timefmt.h"
#include "ctld/ctld.h"
#include "ctld/policy/bootfeatures.h"

static const char helpers[] = "Feature=n1,n2,n4 Helper=/bin/true\n"
                              "Feature=turbo Helper=/bin/true\n"
                              "NodeName=node1 Feature=own Helper=/bin/true\n"
                              "MutuallyExclusive=n1,n2,n4\n";

static struct ctld *setup(const char *more_conf, const char *more_helpers)
{
    struct conf_text files[] = { { .name = "slurm.conf" }, { .name = "helpers.conf" } };
    struct ctld *ctld = calloc(1, sizeof(*ctld));
    struct conf *conf = NULL;
    struct err err = { .text = "" };
    char conf_text[512], helpers_text[512];

    assert_non_null(ctld);
    (void)snprintf(conf_text, sizeof(conf_text),
                   "ClusterName=c\nSlurmctldHost=h\nNodeName=node[0-3] CPUs=2\n"
                   "PartitionName=p Nodes=ALL\nNodeFeaturesPlugins=node_features/helpers\n%s",
                   more_conf);
    (void)snprintf(helpers_text, sizeof(helpers_text), "%s%s", helpers, more_helpers);
    files[0].text = conf_text;
    files[0].len = strlen(conf_text);
    files[1].text = helpers_text;
    files[1].len = strlen(helpers_text);
    assert_int_equal(conf_load_text(files, 2, CONF_FULL, &conf, NULL, &err), 0);
    ctld->conf = conf;
    ctld->cluster = new_cluster();
    add_nodes(ctld->cluster, 4, 2);
    return ctld;
}

static void teardown(struct ctld *ctld)
{
    cluster_free(ctld->cluster);
    (void)conf_free((struct conf *)ctld->conf);
    free(ctld);
}

static void set_node(struct ctld *ctld, uint32_t id, const char *all, const char *active,
                     const char *can)
{
    Pst__NodeRecord *r = ctld->cluster->nodes[id]->rec;

    assert_int_equal(pb_set_str(&r->features, all), 0);
    assert_int_equal(pb_set_str(&r->active_features, active), 0);
    assert_int_equal(pb_set_str(&r->changeable_features, can), 0);
}

static const char reboot[] = "RebootProgram=/bin/true\n";

static void test_may(void **state)
{
    static const struct {
        const char *conf, *helpers, *features;
        bool want;
    } rows[] = {
        { reboot, "", "n1", true },
        { "", "", "n1", false },
        { reboot, "", NULL, false },
        { reboot, "", "", false },
        { reboot, "", "((", false },
        { reboot, "", "[n1*2&n2*1]", false },
        { reboot, "AllowUserBoot=ann\n", "n1", true },
        { reboot, "AllowUserBoot=ben\n", "n1", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ctld *ctld = setup(rows[i].conf, rows[i].helpers);
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        r.features = (char *)rows[i].features;
        r.user_name = (char *)"ann";
        assert_int_equal(bootfeatures_may(ctld, &r), rows[i].want);
        teardown(ctld);
    }
}

static void test_from(void **state)
{
    struct ctld *ctld = setup("SchedulerParameters=delay_boot=2\n", "");
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    r.submit_us = 5 * USEC_PER_SEC;
    assert_int_equal(bootfeatures_delay_s(ctld), 120);
    assert_int_equal(bootfeatures_from(ctld, &r, 0), 125 * USEC_PER_SEC);
    assert_int_equal(bootfeatures_from(ctld, &r, 9 * USEC_PER_SEC), 129 * USEC_PER_SEC);
    r.has_delay_boot_s = true;
    assert_int_equal(bootfeatures_from(ctld, &r, 0), 5 * USEC_PER_SEC);
    teardown(ctld);
}

static void test_contradict(void **state)
{
    static const struct {
        const char *features;
        bool want;
    } rows[] = {
        { NULL, false },     { "n1", false },        { "n1&n2", true },  { "n1|n2", false },
        { "n1&x", false },   { "n1&(n2|x)", false }, { "n4&n4", false }, { "[n1|n2]", false },
        { "n1&!n2", false }, { "(n1|n2)&n4", true },
    };
    struct ctld *ctld = setup(reboot, "");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        r.features = (char *)rows[i].features;
        assert_int_equal(bootfeatures_contradict(ctld, &r), rows[i].want);
    }
    teardown(ctld);
}

/* Node 0 has n1, node 1 has n2, and node 2 cannot change. */
static void test_plan(void **state)
{
    static const struct {
        const char *features, *want; /* of nodes 0 and 1; NULL: not to be had */
        uint32_t last;               /* the second node */
    } rows[] = {
        { "n1", ";n1", 1 },
        { "n4", "n4;n4", 1 },
        { "n1|n2", ";", 1 },
        { "[n1|n2]", ";n1", 1 },
        { "n4&turbo", "n4,turbo;n4,turbo", 1 },
        { "turbo", "turbo;turbo", 1 },
        { "x", NULL, 1 },
        { "n4", NULL, 2 },
        { "n1&!n4", ";n1", 1 },
        { "n1&plain", ";n1", 1 },
    };
    struct ctld *ctld = setup(reboot, "");

    (void)state;
    set_node(ctld, 0, "plain,n1,n2,n4,turbo", "plain,n1", "n1,n2,n4,turbo");
    set_node(ctld, 1, "plain,n1,n2,n4,turbo", "plain,n2", "n1,n2,n4,turbo");
    set_node(ctld, 2, "plain,n1", "plain,n1", NULL);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const uint32_t ids[] = { 0, rows[i].last };
        Pst__JobRecord r = PST__JOB_RECORD__INIT;
        char **list = NULL, text[64];

        r.features = (char *)rows[i].features;
        assert_int_equal(bootfeatures_plan(ctld, &r, ids, 2, &list), rows[i].want != NULL);
        if (!rows[i].want)
            continue;
        (void)snprintf(text, sizeof(text), "%s;%s", list[0], list[1]);
        assert_string_equal(text, rows[i].want);
        bootfeatures_free(list, 2);
    }
    teardown(ctld);
}

static void expect_registration(const char *can, const char *active, const char *want_all,
                                const char *want_active, const char *want_can, bool want_lacks)
{
    struct ctld *ctld = setup(reboot, "");
    Pst__Transaction *tx = tx_new(T0);
    Pst__NodeRecord *old = ctld->cluster->nodes[0]->rec, reg = PST__NODE_RECORD__INIT;
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_REGISTER, 0);
    bool lacks;

    set_node(ctld, 0, "plain,n1,n2", "plain,n1", "n1,n2");
    assert_int_equal(pb_set_str(&old->boot_features, "n2"), 0);
    reg.changeable_features = (char *)can;
    reg.active_features = (char *)active;
    bootfeatures_register(ctld, tx, old, &reg, set, &lacks);
    assert_string_equal(set->features ? set->features : "-", want_all);
    assert_string_equal(set->active_features ? set->active_features : "-", want_active);
    assert_string_equal(set->changeable_features ? set->changeable_features : "-", want_can);
    assert_int_equal(lacks, want_lacks);
    pst__transaction__free_unpacked(tx, NULL);
    teardown(ctld);
}

/* What is as it was is not put; what the controller's file does not give the node does not
 * count. */
static void test_register(void **state)
{
    (void)state;
    expect_registration("n1,n2", "n1", "-", "-", "-", true);
    expect_registration("n1,n2", "n2", "-", "plain,n2", "-", false);
    expect_registration("n1,n2,n4", "n2,n4", "plain,n1,n2,n4", "plain,n2,n4", "n1,n2,n4", false);
    expect_registration("n1,n2,own,root", "n2,own,root", "-", "plain,n2", "-", false);
    expect_registration("n1,n2", "turbo", "-", "plain", "-", true);
    expect_registration(NULL, NULL, "plain", "plain", "-", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may),        cmocka_unit_test(test_from),
        cmocka_unit_test(test_contradict), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_register),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
