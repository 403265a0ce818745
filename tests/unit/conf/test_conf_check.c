/* test_conf_check.c - mistakes that a single line does not show */
#include "conf_util.h"

#define NODES "NodeName=n\nPartitionName=p Nodes=n\n"

static void line_says(const char *line, const char *report)
{
    char lines[256];

    (void)snprintf(lines, sizeof(lines), "%s\n" NODES, line);
    conf_free(conf_says(lines, report));
}

static void test_required(void **state)
{
    const struct conf_text empty = { .name = "slurm.conf", .text = "\n" };

    (void)state;
    assert_null(conf_reports(&empty, 1,
                             "slurm.conf: error: ClusterName is missing\n"
                             "slurm.conf: error: SlurmctldHost is missing\n"
                             "slurm.conf: warning: no NodeName line: the cluster has no nodes\n"));
}

static void test_names(void **state)
{
    const struct conf_text odd = { .name = "slurm.conf",
                                   .text = "ClusterName=a/b\nSlurmctldHost=h\n" NODES },
                           twice = { .name = "slurm.conf",
                                     .text = "ClusterName=c\nSlurmctldHost=h(1.1.1.1)\n"
                                             "SlurmctldHost=H\n" NODES };

    (void)state;
    assert_null(conf_reports(&odd, 1,
                             "slurm.conf:1: error: ClusterName=a/b may hold letters, digits, '_', "
                             "'-' and '.' only\n"));
    assert_null(conf_reports(&twice, 1, "slurm.conf: error: SlurmctldHost=H stands there twice\n"));
}

static void test_pairs(void **state)
{
    (void)state;
    line_says("DefMemPerCPU=1\nDefMemPerNode=2",
              "slurm.conf:5: error: DefMemPerCPU and DefMemPerNode exclude each other\n");
    line_says("MaxMemPerCPU=0\nMaxMemPerNode=1", "");
    line_says("MaxMemPerCPU=1\nMaxMemPerNode=0", ""); /* 0 is no limit */
    line_says("FirstJobId=9\nMaxJobId=8", "slurm.conf:4: error: FirstJobId exceeds MaxJobId\n");
    line_says("MinJobAge=1", "slurm.conf:4: warning: MinJobAge=1 is too small; 2 is used\n");
    line_says("MessageTimeout=100\nUnkillableStepTimeout=499",
              "slurm.conf:5: warning: UnkillableStepTimeout should be at least five times "
              "MessageTimeout\n");
    line_says("MessageTimeout=100\nUnkillableStepTimeout=500", "");
}

static void test_preempt(void **state)
{
    (void)state;
    line_says("PreemptType=preempt/qos\nPreemptMode=SUSPEND",
              "slurm.conf:5: error: PreemptMode=SUSPEND: SUSPEND needs GANG: write SUSPEND,GANG\n");
    line_says("PreemptMode=SUSPEND,GANG",
              "slurm.conf:4: error: PreemptMode=SUSPEND,GANG needs a PreemptType other than "
              "preempt/none\n");
    line_says("PreemptMode=GANG", "");
    line_says("PreemptType=preempt/partition_prio\nPreemptMode=suspend,gang", "");
}

static void test_exit_codes(void **state)
{
    (void)state;
    line_says("RequeueExit=1-3,9\nRequeueExitHold=255", "");
    line_says("RequeueExit=one",
              "slurm.conf:4: warning: RequeueExit=one is no list of exit codes, and is not used\n");
    line_says("RequeueExitHold=256",
              "slurm.conf:4: warning: RequeueExitHold=256 is no list of exit codes, and is not "
              "used\n");
}

static void test_gres_types(void **state)
{
    (void)state;
    conf_free(conf_says("GresTypes=gpu\nNodeName=n Gres=gpu:2,nic:1\nPartitionName=p Nodes=n\n",
                        "slurm.conf:5: warning: Gres nic is not in GresTypes\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_required),   cmocka_unit_test(test_names),
        cmocka_unit_test(test_pairs),      cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_exit_codes), cmocka_unit_test(test_gres_types),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
