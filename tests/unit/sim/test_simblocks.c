/* test_simblocks.c - machines in blocks: fragmentation over time, segments of made-up jobs; and the
 * words of advice on jobs to requeue */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sim/defrag.h"
#include "sim/generate.h"
#include "sim/report.h"
#include "sim/simfeed.h"

#define S INT64_C(1000000)

static struct sim_machine *four_nodes(void)
{
    static const char text[] =
        "ClusterName=t\nSlurmctldHost=h\nSlurmUser=root\nNodeName=n[1-4] CPUs=1 RealMemory=1000 "
        "State=UNKNOWN\nPartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
    const struct conf_text file = { .name = "slurm.conf", .text = text, .len = strlen(text) };
    struct conf *conf = NULL;
    struct sim_machine *m;

    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    assert_int_equal(machine_from_conf(conf, &m, NULL), 0);
    conf_free(conf);
    return m;
}

static void add_job(struct workload *w, int64_t at_s, uint32_t nodes)
{
    const struct sim_job j = { .part = WORKLOAD_NO_PART,
                               .submit_us = WORKLOAD_EPOCH_US + at_s * S,
                               .run_us = 100 * S,
                               .limit_min = 10,
                               .nodes = nodes,
                               .tasks = nodes,
                               .cpus_per_task = 1 };

    assert_int_equal(workload_add(w, &j), 0);
}

/* Two blocks of two: one node for 100 s, then all four for 100 s.
 *   first   1 busy, its block (2) and the pair (4) are broken: 7
 *   then    4 busy, both blocks (2 + 2) and the pair (4): 12 */
static void test_score(void **state)
{
    static const uint32_t sizes[] = { 2, 4 };
    const struct sim_config config = { .sched = { .select = SCHED_SELECT_CORE } };
    struct sim_machine *m = four_nodes();
    struct strbuf sb = STRBUF_INIT;
    struct sim_result r;
    struct workload *w;
    struct stats s;
    struct report_run run = { "conf", &r, &s };
    struct report rp = { .title = "t", .machine = m, .runs = &run, .nruns = 1 };
    uint32_t worst[4];

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    add_job(w, 0, 1);
    add_job(w, 100, 4);
    assert_int_equal(machine_set_blocks(m, 2, sizes, 2, NULL), 0);
    assert_int_equal(sim_run(m, w, &config, &r, NULL), 0);
    assert_int_equal(stats_make(m, w, &r, &s), 0);
    assert_float_equal(s.broken_mean, 9.5, 1e-6);
    assert_float_equal(s.broken_max, 12, 1e-6);
    assert_int_equal(r.nblocks, 2);
    assert_float_equal(r.block_score[0] + r.block_score[1], 3.5 + 2, 1e-6);
    assert_int_equal(report_worst_blocks(&r, worst, 4), 2);
    assert_true(r.block_score[worst[0]] > r.block_score[worst[1]]);
    rp.workload = w;
    report_text(&rp, &sb);
    assert_non_null(strstr(strbuf_str(&sb), "\nfragmentation, highest                  12\n"));
    assert_non_null(strstr(strbuf_str(&sb), "\nworst blocks           fragmentation\nb"));
    strbuf_reset(&sb);
    report_json(&rp, &sb);
    assert_non_null(strstr(strbuf_str(&sb), "\"fragmentation_mean\":9.5,"));
    assert_non_null(strstr(strbuf_str(&sb), ",\"by_block\":[{\"name\":\"b1\",\"fragmentation\":"));
    strbuf_reset(&sb);
    report_html(&rp, &sb);
    assert_non_null(strstr(strbuf_str(&sb), "Fragmentation of blocks"));
    strbuf_done(&sb);
    stats_done(&s);
    sim_result_done(&r);
    workload_free(w);
    machine_free(m);
}

/* Without blocks a report says nothing of them. */
static void test_flat(void **state)
{
    const struct sim_config config = { .sched = { .select = SCHED_SELECT_CORE } };
    struct sim_machine *m = four_nodes();
    struct strbuf sb = STRBUF_INIT;
    struct sim_result r;
    struct workload *w;
    struct stats s;
    struct report_run run = { "conf", &r, &s };
    struct report rp = { .title = "t", .machine = m, .runs = &run, .nruns = 1 };

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    add_job(w, 0, 1);
    assert_int_equal(sim_run(m, w, &config, &r, NULL), 0);
    assert_int_equal(stats_make(m, w, &r, &s), 0);
    rp.workload = w;
    report_text(&rp, &sb);
    report_json(&rp, &sb);
    assert_null(strstr(strbuf_str(&sb), "fragmentation"));
    assert_null(strstr(strbuf_str(&sb), "by segments"));
    strbuf_done(&sb);
    stats_done(&s);
    sim_result_done(&r);
    workload_free(w);
    machine_free(m);
}

static void test_wrong_sizes(void **state)
{
    static const uint32_t sizes[] = { 2, 3 };
    struct sim_machine *m = four_nodes();
    struct err err = { .text = "" };

    (void)state;
    assert_true(machine_set_blocks(m, 2, sizes, 2, &err) < 0);
    assert_true(err.text[0] != '\0');
    machine_free(m);
}

/* Training comes in whole groups; the other jobs are as they were. */
static void test_segments(void **state)
{
    struct generate_params p = { .kind = SIM_GEN_GPU,
                                 .jobs = 5000,
                                 .seed = 4,
                                 .nodes = 2048,
                                 .cpus_per_node = 64,
                                 .gpus_per_node = 8,
                                 .segment = 16 };
    struct workload *w;
    size_t grouped = 0, large = 0;

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    assert_int_equal(generate(&p, w, NULL), 0);
    for (size_t i = 0; i < w->n; i++) {
        const struct sim_job *j = &w->jobs[i];

        assert_true(j->segment ? j->segment == 16 && j->nodes % 16 == 0 && j->exclusive
                               : j->nodes == 1);
        grouped += j->segment != 0;
        large += j->nodes >= 256;
    }
    assert_true(grouped > 150 && large > 20);
    workload_free(w);
}

/* How many nodes of a job lie in each block; gives the blocks that hold any. */
static size_t count_blocks(const struct sim_machine *m, const struct sim_result *r, size_t job,
                           uint32_t *in)
{
    const struct sim_outcome *o = &r->jobs[job];
    size_t blocks = 0;

    memset(in, 0, topo_get_spec(machine_topology(m))->nunits * sizeof(*in));
    for (uint32_t s = 0; s < o->nspans; s++)
        for (uint32_t n = r->spans[o->span + s].first; n <= r->spans[o->span + s].last; n++)
            blocks += in[topo_unit_of(machine_topology(m), n)]++ == 0;
    return blocks;
}

/* A segment lies in one block: blocks of 9 hold two segments of 4, so each block has a multiple of
 * 4 nodes of such a job. */
static void test_placed_in_blocks(void **state)
{
    static const uint32_t sizes[] = { 8, 16, 32 };
    const struct generate_params p = { .kind = SIM_GEN_GPU,
                                       .jobs = 1500,
                                       .seed = 5,
                                       .nodes = 72,
                                       .cpus_per_node = 64,
                                       .gpus_per_node = 8,
                                       .load = 0.9,
                                       .segment = 4 };
    const struct sim_config config = { .sched = { .select = SCHED_SELECT_CORE, .backfill = true } };
    struct conf *conf = NULL;
    static const char text[] =
        "ClusterName=t\nSlurmctldHost=h\nSlurmUser=root\nGresTypes=gpu\nNodeName=n[1-72] CPUs=64 "
        "Sockets=1 CoresPerSocket=64 ThreadsPerCore=1 RealMemory=100000 Gres=gpu:8 State=UNKNOWN\n"
        "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
    const struct conf_text file = { .name = "slurm.conf", .text = text, .len = strlen(text) };
    struct sim_machine *m;
    struct sim_result r;
    struct workload *w;
    uint32_t in[8];
    size_t segmented = 0;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    assert_int_equal(machine_from_conf(conf, &m, NULL), 0);
    assert_int_equal(machine_set_blocks(m, 9, sizes, 3, NULL), 0);
    assert_int_equal(workload_new(&w), 0);
    assert_int_equal(generate(&p, w, NULL), 0);
    assert_int_equal(sim_run(m, w, &config, &r, NULL), 0);
    for (size_t i = 0; i < w->n; i++) {
        assert_true(r.jobs[i].start_us != 0);
        (void)count_blocks(m, &r, i, in);
        segmented += w->jobs[i].segment != 0;
        for (size_t b = 0; w->jobs[i].segment && b < 8; b++)
            assert_int_equal(in[b] % 4, 0);
    }
    assert_true(segmented > 30);
    sim_result_done(&r);
    workload_free(w);
    machine_free(m);
    conf_free(conf);
}

/* ---- advice ---------------------------------------------------------------------------------- */

static void test_advice(void **state)
{
    Pst__JobRecord recs[3] = { PST__JOB_RECORD__INIT, PST__JOB_RECORD__INIT,
                               PST__JOB_RECORD__INIT };
    struct world_job jobs[3] = { { .rec = &recs[0] }, { .rec = &recs[1] }, { .rec = &recs[2] } };
    const struct world w = { .jobs = jobs };
    uint32_t both[] = { 0, 1 }, one[] = { 1 };
    struct defrag d = { .job = 2, .now_us = 10 * S, .expected_us = 3610 * S, .candidates = 2 };
    struct strbuf sb = STRBUF_INIT;

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        recs[i].job_id = 11 + i;
    d.choices[0] = (struct defrag_choice){ one, 1, 1800, (char *)"n[1-2]" };
    d.choices[1] = (struct defrag_choice){ both, 2, 7200, (char *)"n[3-4]" };
    d.nchoices = 2;
    defrag_text(&d, &w, &sb);
    assert_string_equal(strbuf_str(&sb),
                        "job 13 has room in 1:00:00, by the time limits of what runs\n"
                        "1. requeue 1 job, 0.5 node hours of work lost; it starts on n[1-2]\n"
                        "    12\n"
                        "2. requeue 2 jobs, 2.0 node hours of work lost; it starts on n[3-4]\n"
                        "    11 12\n");
    strbuf_reset(&sb);
    defrag_json(&d, &w, &sb);
    assert_string_equal(
        strbuf_str(&sb),
        "{\"job\":\"13\",\"now\":10,\"starts_now\":false,\"expected_start\":3610,"
        "\"candidates\":2,\"choices\":[{\"lost_node_hours\":0.5,\"nodes\":\"n[1-2]\","
        "\"jobs\":[\"12\"]},{\"lost_node_hours\":2,\"nodes\":\"n[3-4]\",\"jobs\":"
        "[\"11\",\"12\"]}]}\n");
    strbuf_reset(&sb);
    d.nchoices = 0;
    d.expected_us = 0;
    defrag_text(&d, &w, &sb);
    assert_string_equal(strbuf_str(&sb),
                        "job 13 has no room at any time that is known: time limits of what runs "
                        "do not make it\n"
                        "requeueing does not make room: 2 running jobs may be requeued\n");
    strbuf_done(&sb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_flat),
        cmocka_unit_test(test_wrong_sizes),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_placed_in_blocks),
        cmocka_unit_test(test_advice),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
