/* test_conf_part.c - PartitionName lines: limits, who may use one, sharing, what all of them
 * together show */
#include "conf_util.h"

#include "base/cleanup.h"

static struct conf *parts(const char *lines, const char *report)
{
    char text[1024];

    (void)snprintf(text, sizeof(text), "NodeName=n[1-4]\n%s\n", lines);
    return conf_says(text, report);
}

static void test_defaults(void **state)
{
    struct conf *c = parts("PartitionName=p Nodes=n1", "");
    const struct conf_part *p = conf_part(c, 0);

    (void)state;
    assert_int_equal(p->max_time_min, CONF_UNLIMITED);
    assert_false(p->has_default_time);
    assert_int_equal(p->max_nodes, CONF_UNLIMITED);
    assert_int_equal(p->min_nodes, 0);
    assert_int_equal(p->priority_tier, 1);
    assert_int_equal(p->priority_job_factor, 1);
    assert_null(p->allow_groups);
    assert_null(p->deny_accounts);
    assert_string_equal(p->oversubscribe, "NO");
    assert_string_equal(p->exclusive, "NO");
    assert_false(p->is_default || p->hidden || p->root_only || p->req_resv || p->lln);
    conf_free(c);
}

static void test_limits(void **state)
{
    struct conf *c = parts("PartitionName=p Nodes=n1 MaxTime=60 DefaultTime=10 MaxNodes=3 "
                           "MinNodes=2 GraceTime=30 OverTimeLimit=5",
                           "");
    const struct conf_part *p = conf_part(c, 0);

    (void)state;
    assert_int_equal(p->default_time_min, 10);
    assert_int_equal(p->max_nodes, 3);
    assert_int_equal(p->min_nodes, 2);
    assert_int_equal(p->grace_time_s, 30);
    assert_true(p->has_over_time_limit && p->over_time_limit_min == 5);
    conf_free(c);
    c = parts("PartitionName=p Nodes=n1 MaxTime=60 DefaultTime=90",
              "slurm.conf:5: warning: DefaultTime=90 exceeds MaxTime, which is used\n");
    assert_int_equal(conf_part(c, 0)->default_time_min, 60);
    conf_free(c);
    assert_null(parts("PartitionName=p Nodes=n1 MaxNodes=2 MinNodes=3",
                      "slurm.conf:5: error: MinNodes=3 exceeds MaxNodes=2\n"));
    assert_null(parts("PartitionName=p Nodes=n1 DefMemPerCPU=2 DefMemPerNode=3",
                      "slurm.conf:5: error: DefMemPerCPU and DefMemPerNode exclude each other\n"));
}

/* Priority= sets both of the newer keys, where these are not given. */
static void test_priority(void **state)
{
    struct conf *c = parts("PartitionName=p Nodes=n1 Priority=7\n"
                           "PartitionName=q Nodes=n1 Priority=7 PriorityTier=3",
                           "");

    (void)state;
    assert_int_equal(conf_part(c, 0)->priority_tier, 7);
    assert_int_equal(conf_part(c, 0)->priority_job_factor, 7);
    assert_int_equal(conf_part(c, 1)->priority_tier, 3);
    assert_int_equal(conf_part(c, 1)->priority_job_factor, 7);
    conf_free(c);
}

static void test_sharing(void **state)
{
    static const struct {
        const char *word, *oversubscribe, *exclusive;
    } rows[] = { { "NO", "NO", "NO" },           { "YES", "YES:4", "NO" },
                 { "yes:2", "YES:2", "NO" },     { "FORCE", "FORCE:4", "NO" },
                 { "FORCE:9", "FORCE:9", "NO" }, { "EXCLUSIVE", "NO", "NODE" } };
    struct conf *c;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char line[128];

        (void)snprintf(line, sizeof(line), "PartitionName=p Nodes=n1 OverSubscribe=%s",
                       rows[i].word);
        c = parts(line, "");
        assert_string_equal(conf_part(c, 0)->oversubscribe, rows[i].oversubscribe);
        assert_string_equal(conf_part(c, 0)->exclusive, rows[i].exclusive);
        conf_free(c);
    }
    assert_null(parts("PartitionName=p Nodes=n1 OverSubscribe=FORCE:0",
                      "slurm.conf:5: error: OverSubscribe=FORCE:0 is not NO, YES[:N] or "
                      "FORCE[:N]\n"));
    assert_null(parts("PartitionName=p Nodes=n1 OverSubscribe=YES42",
                      "slurm.conf:5: error: OverSubscribe=YES42 is not NO, YES[:N] or "
                      "FORCE[:N]\n"));
    c = parts("PartitionName=p Nodes=n1 ExclusiveUser=YES", "");
    assert_string_equal(conf_part(c, 0)->exclusive, "USER");
    conf_free(c);
}

/* The word for "no restriction" is none. */
static void test_lists(void **state)
{
    struct conf *c = parts("PartitionName=p Nodes=n1 AllowGroups=ALL AllowAccounts=a,b "
                           "DenyQos=none QOS=N/A PreemptMode=requeue DefMemPerGPU=100 "
                           "DefCpuPerGPU=4",
                           "");
    const struct conf_part *p = conf_part(c, 0);

    (void)state;
    assert_null(p->allow_groups);
    assert_string_equal(p->allow_accounts, "a,b");
    assert_null(p->deny_qos);
    assert_null(p->qos);
    assert_string_equal(p->preempt_mode, "REQUEUE");
    assert_string_equal(p->job_defaults, "DefCpuPerGPU=4,DefMemPerGPU=100");
    conf_free(c);
}

static void test_together(void **state)
{
    struct conf *c = parts("PartitionName=p Nodes=n1 Default=YES\n"
                           "PartitionName=q Nodes=n1 Default=YES Alternate=p State=DRAIN",
                           "slurm.conf:6: warning: q takes the place of default partition p\n");

    (void)state;
    assert_false(conf_part(c, 0)->is_default);
    assert_true(conf_part(c, 1)->is_default);
    assert_string_equal(conf_part(c, 1)->alternate, "p");
    assert_int_not_equal(conf_part(c, 1)->state, conf_part(c, 0)->state);
    conf_free(c);
    assert_null(parts("PartitionName=p Nodes=n1\nPartitionName=p Nodes=n2",
                      "slurm.conf:6: error: partition p is defined already in line 5\n"));
    assert_null(parts("PartitionName=p Nodes=n1 Alternate=z",
                      "slurm.conf:5: error: Alternate=z is not a partition\n"));
    assert_null(parts("PartitionName=a,b Nodes=n1",
                      "slurm.conf:5: error: PartitionName=\"a,b\" is not a name\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_priority), cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_lists),    cmocka_unit_test(test_together),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
