/* test_conf_value.c - single values as they are written: kinds, ranges, and the sentence that
 * refuses one */
#include "conf_util.h"

#include "base/cleanup.h"

/* What of the line is told; NULL: it is taken. */
static void line_says(const char *line, const char *sentence)
{
    char lines[256], report[512] = "";
    struct conf *c;

    (void)snprintf(lines, sizeof(lines), "%s\nNodeName=n\nPartitionName=p Nodes=n\n", line);
    if (sentence)
        (void)snprintf(report, sizeof(report), "slurm.conf:4: error: %s\n", sentence);
    c = conf_says(lines, report);
    assert_int_equal(c == NULL, sentence != NULL);
    conf_free(c);
}

static uint64_t num_of(const char *line, enum conf_key key)
{
    struct conf *c = conf_with_lines(line);
    uint64_t v = conf_num(c, key);

    conf_free(c);
    return v;
}

static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(num_of("MaxJobCount=77", CONF_MAX_JOB_COUNT), 77);
    line_says("MaxJobCount=77x", "MaxJobCount=77x is not a number");
    line_says("MaxJobCount=", "key MaxJobCount has no value");
    line_says("SlurmctldTimeout=-5", "SlurmctldTimeout=-5 is not a number");
    line_says("MaxTasksPerNode=65534", "MaxTasksPerNode=65534 is out of range (1 to 65533)");
    line_says("MaxTasksPerNode=65533", NULL);
    line_says("MaxJobCount=99999999999999999999",
              "MaxJobCount=99999999999999999999 is out of range (1 to 4294967294)");
    assert_true(num_of("EpilogTimeout=INFINITE", CONF_EPILOG_TIMEOUT) == CONF_UNLIMITED);
    assert_true(num_of("EpilogTimeout=-1", CONF_EPILOG_TIMEOUT) == CONF_UNLIMITED);
    line_says("MaxJobCount=INFINITE", "MaxJobCount=INFINITE is not a number");
}

/* YES and NO have more spellings than one. */
static void test_words(void **state)
{
    static const char *const yes[] = { "YES", "yes", "TRUE", "1", "up" }, *const no[] = {
        "NO", "false", "0", "Down"
    };
    char line[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
        (void)snprintf(line, sizeof(line), "DisableRootJobs=%s", yes[i]);
        assert_int_equal(num_of(line, CONF_DISABLE_ROOT_JOBS), 1);
    }
    for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
        (void)snprintf(line, sizeof(line), "DisableRootJobs=%s", no[i]);
        assert_int_equal(num_of(line, CONF_DISABLE_ROOT_JOBS), 0);
    }
    line_says("DisableRootJobs=maybe", "DisableRootJobs=maybe is neither yes nor no");
    line_says("SelectType=select/nosuch", "SelectType=select/nosuch is not known");
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(num_of("DefMemPerCPU=100", CONF_DEF_MEM_PER_CPU), 100);
    assert_int_equal(num_of("DefMemPerCPU=2G", CONF_DEF_MEM_PER_CPU), 2048);
    assert_int_equal(num_of("MaxMemPerNode=UNLIMITED", CONF_MAX_MEM_PER_NODE), 0);
    line_says("DefMemPerCPU=lots", "DefMemPerCPU=lots is not a size such as 4096 or 4G");
}

static void test_times(void **state)
{
    struct conf *c = conf_with_lines("PartitionName=q Nodes=n MaxTime=1:30 DefaultTime=NONE\n"
                                     "PartitionName=r Nodes=n MaxTime=2-0 DefaultTime=1:00:00\n"
                                     "PartitionName=s Nodes=n MaxTime=INFINITE");

    (void)state;
    assert_int_equal(conf_part(c, 1)->max_time_min, 2); /* a minute and a half is rounded up */
    assert_false(conf_part(c, 1)->has_default_time);
    assert_int_equal(conf_part(c, 2)->max_time_min, 2880);
    assert_int_equal(conf_part(c, 2)->default_time_min, 60);
    assert_int_equal(conf_part(c, 3)->max_time_min, CONF_UNLIMITED);
    conf_free(c);
    line_says("PartitionName=q Nodes=n MaxTime=soon",
              "MaxTime=soon is not a time such as 30, 1:00:00 or 7-0");
}

/* A duration in seconds is written as a time. */
static void test_durations(void **state)
{
    (void)state;
    assert_int_equal(num_of("PriorityDecayHalfLife=1-0", CONF_PRIORITY_DECAY_HALF_LIFE), 86400);
    assert_int_equal(num_of("PriorityDecayHalfLife=5:30", CONF_PRIORITY_DECAY_HALF_LIFE), 330);
    assert_int_equal(num_of("PriorityDecayHalfLife=1:00:01", CONF_PRIORITY_DECAY_HALF_LIFE), 3601);
    assert_int_equal(num_of("PriorityDecayHalfLife=1-2:3", CONF_PRIORITY_DECAY_HALF_LIFE), 93780);
    assert_int_equal(num_of("PriorityDecayHalfLife=20", CONF_PRIORITY_DECAY_HALF_LIFE), 1200);
}

static void test_ports(void **state)
{
    struct conf *c = conf_with_lines("SlurmctldPort=6820-6823\nSrunPortRange=60001-63000");
    uint16_t first = 0, last = 0;

    (void)state;
    conf_ports(c, CONF_SLURMCTLD_PORT, &first, &last);
    assert_int_equal(first, 6820);
    assert_int_equal(last, 6823);
    assert_int_equal(conf_num(c, CONF_SLURMCTLD_PORT), 6820); /* the first of a range */
    conf_ports(c, CONF_SRUN_PORT_RANGE, &first, &last);
    assert_int_equal(first, 60001);
    assert_int_equal(last, 63000);
    conf_free(c);
    line_says("SlurmctldPort=6823-6820", "SlurmctldPort=6823-6820 is an empty range");
    line_says("SlurmctldPort=ssh", "SlurmctldPort=ssh is neither a port nor a range of ports");
    line_says("SlurmctldPort=6820-", "SlurmctldPort=6820- is neither a port nor a range of ports");
}

static void test_paths_and_users(void **state)
{
    (void)state;
    line_says("StateSaveLocation=state", "StateSaveLocation=state is not an absolute path");
    line_says("SlurmdUser=4294967295", "SlurmdUser=4294967295 is not a user");
    line_says("SlurmdUser=0", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_words),
        cmocka_unit_test(test_sizes),           cmocka_unit_test(test_times),
        cmocka_unit_test(test_durations),       cmocka_unit_test(test_ports),
        cmocka_unit_test(test_paths_and_users),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
