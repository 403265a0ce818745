/* test_params.c - slurm.conf as parameters of the scheduler: each key reaches its parameter, and
 * what is not there leaves the default */
#include "conf_util.h"

#include "base/cleanup.h"
#include "feed/params.h"

static struct sched_params params_of(const char *lines)
{
    struct conf *conf = conf_with_lines(lines);
    struct sched_params p;

    feed_fill_params(conf, &p);
    conf_free(conf);
    return p;
}

static void test_defaults(void **state)
{
    struct sched_params p = params_of("");

    (void)state;
    assert_int_equal(p.select, SCHED_SELECT_CORE);
    assert_true(p.backfill && p.conservative);
    assert_int_equal(p.bf_max_job_plan, 500);
    assert_int_equal(p.bf_max_job_array_resv, 20);
    assert_int_equal(p.bf_max_job_test, 0); /* all are looked at */
    assert_int_equal(p.bf_window_min, 1440);
    assert_int_equal(p.bf_resolution_s, 60);
    assert_int_equal(p.bf_yield_interval_us, 2000000);
    assert_int_equal(p.topo_unroll, 0);
    assert_int_equal(p.keep_segments, 0);
    assert_int_equal(p.spare_nodes, 0);
    assert_int_equal(p.ntres_weights, 0);
    assert_false(p.lln || p.pack_nodes || p.serial_last || p.defer || p.bf_licenses);
}

/* Numbers of SchedulerParameters, and where they arrive. */
#define NUMBER(word, field)                                                                        \
    {                                                                                              \
        word, offsetof(struct sched_params, field)                                                 \
    }
static const struct {
    const char *word;
    size_t at;
} numbers[] = {
    NUMBER("bf_max_job_test", bf_max_job_test),
    NUMBER("bf_max_job_test", bf_max_job_plan),
    NUMBER("bf_max_job_array_resv", bf_max_job_array_resv),
    NUMBER("sched_min_interval", min_interval_us),
    NUMBER("bf_window", bf_window_min),
    NUMBER("bf_resolution", bf_resolution_s),
    NUMBER("bf_interval", bf_interval_s),
    NUMBER("bf_max_job_user", bf_max_job_user),
    NUMBER("bf_max_job_part", bf_max_job_part),
    NUMBER("bf_max_job_user_part", bf_max_job_user_part),
    NUMBER("bf_max_job_assoc", bf_max_job_assoc),
    NUMBER("bf_max_job_start", bf_max_job_start),
    NUMBER("bf_min_age_reserve", bf_min_age_reserve_s),
    NUMBER("bf_min_prio_reserve", bf_min_prio_reserve),
    NUMBER("bf_job_part_count_reserve", bf_job_part_count_reserve),
    NUMBER("bf_yield_interval", bf_yield_interval_us),
    NUMBER("expedite_spares", spare_nodes),
    NUMBER("keep_segments", keep_segments),
    NUMBER("default_queue_depth", default_queue_depth),
    NUMBER("partition_job_depth", partition_job_depth),
    NUMBER("sched_max_job_start", sched_max_job_start),
};

static void test_numbers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        char line[128];
        struct sched_params p;

        (void)snprintf(line, sizeof(line), "SchedulerParameters=requeue_delay=1,%s=%zu",
                       numbers[i].word, 70 + i);
        p = params_of(line);
        if (*(const uint32_t *)(const void *)((const char *)&p + numbers[i].at) != 70 + i)
            fail_msg("%s", numbers[i].word);
    }
}

#define WORD(line, field)                                                                          \
    {                                                                                              \
        line, offsetof(struct sched_params, field)                                                 \
    }
static const struct {
    const char *line;
    size_t at;
} words[] = {
    WORD("SchedulerParameters=defer", defer),
    WORD("SchedulerParameters=bf_one_resv_per_job", bf_one_resv_per_job),
    WORD("SchedulerParameters=bf_licenses", bf_licenses),
    WORD("SchedulerParameters=pack_serial_at_end", serial_last),
    WORD("SelectTypeParameters=CR_Core_Memory", select_memory),
    WORD("SelectTypeParameters=CR_Core,CR_LLN", lln),
    WORD("SelectTypeParameters=CR_Core,CR_Pack_Nodes", pack_nodes),
    WORD("SelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK", dist_block),
    WORD("SelectTypeParameters=CR_Core,MULTIPLE_SHARING_GRES_PJ", several_shared),
    WORD("SelectTypeParameters=CR_Core,LL_SHARED_GRES", least_shared),
    WORD("PriorityFavorSmall=YES", favor_small),
    WORD("PriorityType=priority/multifactor", multifactor),
};

static void test_words(void **state)
{
    struct sched_params none =
        params_of("PriorityType=priority/basic\nSelectTypeParameters=CR_Core");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        struct sched_params p = params_of(words[i].line);

        if (!*(const bool *)(const void *)((const char *)&p + words[i].at) ||
            *(const bool *)(const void *)((const char *)&none + words[i].at))
            fail_msg("%s", words[i].line);
    }
}

static void test_select(void **state)
{
    static const struct {
        const char *lines;
        enum sched_select select;
    } cases[] = {
        { "SelectType=select/linear", SCHED_SELECT_LINEAR },
        { "SelectType=select/linear\nSelectTypeParameters=CR_Memory", SCHED_SELECT_LINEAR },
        { "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU", SCHED_SELECT_CPU },
        { "SelectTypeParameters=cr_cpu_memory", SCHED_SELECT_CPU },
        { "SelectTypeParameters=CR_Socket_Memory", SCHED_SELECT_SOCKET },
        { "SelectTypeParameters=CR_Core", SCHED_SELECT_CORE },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (params_of(cases[i].lines).select != cases[i].select)
            fail_msg("%s", cases[i].lines);
}

static void test_part_select(void **state)
{
    static const struct {
        const char *text;
        bool says;
        enum sched_select select;
        bool memory, counts; /* counts: in a cluster whose jobs get cores and memory */
    } cases[] = {
        { NULL, false, 0, false, true },
        { "NONE", false, 0, false, true },
        { "CR_Core", true, SCHED_SELECT_CORE, false, false },
        { "cr_socket", true, SCHED_SELECT_SOCKET, false, false },
        { "CR_Core_Memory", true, SCHED_SELECT_CORE, true, true },
        { "CR_Socket_Memory", true, SCHED_SELECT_SOCKET, true, true },
    };
    struct conf *core = conf_with_lines("SelectTypeParameters=CR_Core_Memory"),
                *cpu = conf_with_lines("SelectTypeParameters=CR_CPU_Memory"),
                *alone = conf_with_lines("SelectTypeParameters=CR_Socket");

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        enum sched_select select = 0;
        bool memory = false;

        assert_int_equal(feed_part_select(cases[i].text, &select, &memory), cases[i].says);
        assert_int_equal(select, cases[i].select);
        assert_int_equal(memory, cases[i].memory);
        assert_int_equal(feed_memory_counts(core, cases[i].text), cases[i].counts);
        assert_true(feed_memory_counts(cpu, cases[i].text));
        assert_int_equal(feed_memory_counts(alone, cases[i].text), cases[i].memory);
    }
    conf_free(core);
    conf_free(cpu);
    conf_free(alone);
}

static void test_backfill(void **state)
{
    (void)state;
    assert_false(params_of("SchedulerType=sched/builtin").backfill);
    assert_false(params_of("SchedulerParameters=bf_interval=-1").backfill);
    assert_true(params_of("SchedulerParameters=bf_interval=0").backfill);
}

static void test_topology(void **state)
{
    (void)state;
    assert_int_equal(params_of("TopologyParam=TopoMaxSizeUnroll=8").topo_unroll, 8);
    assert_int_equal(params_of("TopologyParam=TopoMaxSizeUnroll=-1").topo_unroll, 0);
    assert_int_equal(params_of("TopologyParam=Dragonfly").topo_unroll, 0);
}

static void test_priority(void **state)
{
    struct sched_params p = params_of(
        "PriorityType=priority/multifactor\nPriorityWeightAge=1\nPriorityWeightAssoc=2\n"
        "PriorityWeightFairshare=3\nPriorityWeightJobSize=4\nPriorityWeightPartition=5\n"
        "PriorityWeightQOS=6\nPriorityMaxAge=2-0\nPriorityCalcPeriod=7\nFairShareDampeningFactor=9\n"
        "PriorityFlags=NO_NORMAL_ALL,INCR_ONLY\n"
        "PriorityWeightTRES=CPU=1000,Mem=0.5,GRES/GPU=3000");

    (void)state;
    assert_int_equal(p.weight_age, 1);
    assert_int_equal(p.weight_assoc, 2);
    assert_int_equal(p.weight_fairshare, 3);
    assert_int_equal(p.weight_job_size, 4);
    assert_int_equal(p.weight_partition, 5);
    assert_int_equal(p.weight_qos, 6);
    assert_int_equal(p.max_age_s, 2 * 86400);
    assert_int_equal(p.prio_period_s, 7 * 60);
    assert_int_equal(p.fairshare_dampening, 9);
    assert_int_equal(p.prio_flags, SCHED_PRIO_INCR_ONLY | SCHED_PRIO_NO_NORMAL_ASSOC |
                                       SCHED_PRIO_NO_NORMAL_PART | SCHED_PRIO_NO_NORMAL_QOS |
                                       SCHED_PRIO_NO_NORMAL_TRES);
    assert_int_equal(p.ntres_weights, 3);
    assert_string_equal(p.tres_weights[0].name, "cpu");
    assert_true(p.tres_weights[1].weight == 0.5);
    assert_string_equal(p.tres_weights[2].name, "gres/GPU"); /* names of devices stay */
    assert_true(p.tres_weights[2].weight == 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_words),       cmocka_unit_test(test_select),
        cmocka_unit_test(test_part_select), cmocka_unit_test(test_backfill),
        cmocka_unit_test(test_topology),    cmocka_unit_test(test_priority),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
