/* test_imex.c - IMEX channels of jobs: the lowest that is free, one for each segment, none left,
 * a restart */
#include "ctld_util.h"

#include "ctld/policy/imex.h"
#include "feed/switchfeed.h"
#include "model/words/imexwords.h"

static const char cluster[] =
    "NodeName=n[0-3] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static struct fake_node *nodes[4];

static int setup(void **state)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };
    struct daemon *d = malloc(sizeof(*d));

    assert_non_null(d);
    (void)daemon_new(d);
    write_conf(d,
               "SlurmdTimeout=600\nSwitchType=switch/nvidia_imex\n"
               "SwitchParameters=imex_channel_count=3",
               cluster);
    daemon_start(d, NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        nodes[i] = node_up(d, names[i], "b1", NULL);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct daemon *d = *state;
    int status = daemon_stop(d, SIGTERM);

    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        node_free(nodes[i]);
    daemon_free(d);
    free(d);
    return status; /* not 0 when it leaked */
}

static void test_lowest_free(void **state)
{
    struct daemon *d = *state;
    uint32_t first = submit(d, "{'job':{'min_nodes':1}}");
    uint32_t second = submit(d, "{'job':{'min_nodes':2,'max_nodes':2,'segment_size':1,"
                                "'network':'Unique-Channel-Per-Segment'}}");
    uint32_t third;

    (void)node_launched(nodes[0], first);
    wait_job(d, first, "'imex_channels':[{'channel':1}]");
    wait_job(d, second, "'imex_channels':[{'channel':2,'nodes':'n0'},{'channel':3,'nodes':'n1'}]");
    third = submit(d, "{'job':{'min_nodes':1}}");
    wait_job(d, third, "'pend_reason':'REASON_NVIDIA_IMEX_CHANNELS'");
}

static void test_kinds(void **state)
{
    static const struct {
        const char *type, *network;
        uint32_t nodes, segment, wanted;
        bool refused;
    } cases[] = {
        { "", "anything", 4, 2, 0, false },
        { "SwitchType=switch/none\n", NULL, 4, 2, 0, false },
        { "SwitchType=switch/nvidia_imex\n", NULL, 4, 2, 1, false },
        { "SwitchType=switch/nvidia_imex\n", "", 4, 2, 1, false },
        { "SwitchType=switch/nvidia_imex\n", "unique-channel-per-segment", 4, 2, 2, false },
        { "SwitchType=switch/nvidia_imex\n", "unique-channel-per-segment", 4, 0, 1, false },
        { "SwitchType=switch/nvidia_imex\n", "unique-channel-per-segment", 4, 9, 1, false },
        { "SwitchType=switch/nvidia_imex\n", "unique-channel-per-segments", 4, 2, 1, true },
        { "SwitchType=switch/nvidia_imex\n", "unique-channel-per-segment,x", 4, 2, 2, true },
        { "SwitchType=switch/nvidia_imex\n", ",", 4, 2, 1, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *text = NULL;
        struct conf *conf = NULL;
        struct conf_text file = { .name = "slurm.conf" };
        Pst__JobRecord r = PST__JOB_RECORD__INIT;
        struct err err = { .text = "" };

        assert_true(asprintf(&text,
                             "ClusterName=t\nSlurmctldHost=h\n%sNodeName=n1 CPUs=1\n"
                             "PartitionName=p Nodes=n1\n",
                             cases[i].type) > 0);
        file.text = text;
        file.len = strlen(text);
        assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
        r.network = (char *)cases[i].network;
        SET(&r, min_nodes, cases[i].nodes);
        SET(&r, segment_size, cases[i].segment);
        assert_int_equal(imex_wanted(conf, &r), cases[i].wanted);
        assert_int_equal(switch_check(conf, r.network, &err) < 0, cases[i].refused);
        assert_int_equal(err.text[0] != '\0', cases[i].refused);
        assert_int_equal(imex_channels(conf), cases[i].wanted ? IMEX_CHANNELS : 0);
        conf_free(conf);
    }
}

static void test_of_a_node(void **state)
{
    Pst__SwitchChannel a = PST__SWITCH_CHANNEL__INIT, b = PST__SWITCH_CHANNEL__INIT,
                       *list[] = { &a, &b };
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    assert_int_equal(job_imex_channel(&r, "n1"), 0);
    SET(&a, channel, 5);
    SET(&b, channel, 7);
    r.imex_channels = list;
    r.n_imex_channels = 1;
    assert_int_equal(job_imex_channel(&r, "n1"), 5);
    a.nodes = (char *)"n[1-2]";
    b.nodes = (char *)"n[3-4]";
    r.n_imex_channels = 2;
    assert_int_equal(job_imex_channel(&r, "n2"), 5);
    assert_int_equal(job_imex_channel(&r, "n4"), 7);
    assert_int_equal(job_imex_channel(&r, "n5"), 0);
    assert_int_equal(job_imex_channel(&r, NULL), 0);
    a.nodes = (char *)"n[";
    assert_int_equal(job_imex_channel(&r, "n3"), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lowest_free, setup, teardown),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_of_a_node),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
