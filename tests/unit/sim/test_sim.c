/* test_sim.c - the event loop, and results that queueing theory knows beforehand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "sim/events.h"
#include "sim/generate.h"
#include "sim/report.h"
#include "sim/rng.h"

static struct sim_machine *sharing_machine(uint32_t nodes, uint32_t cpus, const char *share)
{
    char text[512];
    struct conf_text file = { .name = "slurm.conf", .text = text };
    struct conf *conf = NULL;
    struct sim_machine *m;

    file.len = (size_t)snprintf(
        text, sizeof(text),
        "ClusterName=t\nSlurmctldHost=h\nSlurmUser=root\nNodeName=n[1-%u] CPUs=%u Sockets=1 "
        "CoresPerSocket=%u ThreadsPerCore=1 RealMemory=100000 State=UNKNOWN\nPartitionName=p "
        "Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=%s\n",
        nodes, cpus, cpus, share);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &conf, NULL, NULL), 0);
    assert_int_equal(machine_from_conf(conf, &m, NULL), 0);
    conf_free(conf);
    return m;
}

static struct sim_machine *machine(uint32_t nodes, uint32_t cpus)
{
    return sharing_machine(nodes, cpus, "NO");
}

enum policy { FIFO, EASY, CONSERVATIVE };

static struct sim_result simulated(const struct sim_machine *m, const struct workload *w,
                                   enum policy policy)
{
    const struct sim_config config = { .sched = { .select = SCHED_SELECT_CORE,
                                                  .backfill = policy != FIFO,
                                                  .conservative = policy == CONSERVATIVE,
                                                  .bf_window_min = 14400 } };
    struct sim_result r;

    assert_int_equal(sim_run(m, w, &config, &r, NULL), 0);
    return r;
}

static struct workload *lublin(uint32_t jobs, uint32_t nodes, uint32_t cpus, double load)
{
    const struct generate_params p = { .kind = SIM_GEN_LUBLIN,
                                       .jobs = jobs,
                                       .seed = 11,
                                       .nodes = nodes,
                                       .cpus_per_node = cpus,
                                       .load = load };
    struct workload *w;

    assert_int_equal(workload_new(&w), 0);
    assert_int_equal(generate(&p, w, NULL), 0);
    return w;
}

/* Serial jobs that come at random and last long or short by chance. */
static struct workload *serial(uint32_t jobs, double gap_s, double run_s, uint64_t seed)
{
    struct rng rng = { seed };
    struct workload *w;
    double at = 0;

    assert_int_equal(workload_new(&w), 0);
    for (uint32_t i = 0; i < jobs; i++) {
        struct sim_job j = { .id = i + 1,
                             .part = WORKLOAD_NO_PART,
                             .tasks = 1,
                             .cpus_per_task = 1,
                             .limit_min = 100000 };

        at += rng_exponential(&rng, gap_s);
        j.submit_us = w->began_us + (int64_t)(at * 1e6);
        j.run_us = 1 + (int64_t)(rng_exponential(&rng, run_s) * 1e6);
        assert_int_equal(workload_add(w, &j), 0);
    }
    return w;
}

static void test_events(void **state)
{
    struct events e = { 0 };
    struct rng rng = { 3 };
    struct sim_event last = { .at_us = -1 }, ev;

    (void)state;
    for (uint32_t i = 0; i < 5000; i++)
        assert_int_equal(events_push(&e, rng_below(&rng, 300), rng_below(&rng, 4), i, 0), 0);
    for (uint32_t i = 0; i < 5000; i++) {
        assert_true(events_pop(&e, &ev));
        assert_true(ev.at_us > last.at_us || (ev.at_us == last.at_us && ev.kind > last.kind) ||
                    (ev.at_us == last.at_us && ev.kind == last.kind && ev.seq > last.seq));
        last = ev;
    }
    assert_false(events_pop(&e, &ev));
    assert_null(events_peek(&e));
    events_done(&e);
}

/* The integral stays exact however often bins are merged. */
static void test_series(void **state)
{
    struct series *s = malloc(sizeof(*s));
    double sum = 0;

    (void)state;
    series_init(s, 1000);
    for (int i = 0; i < 5000; i++) {
        series_set(s, SERIES_USED, i % 7);
        series_to(s, 1000 + (i + 1) * INT64_C(12345678));
        sum += i % 7 * 12.345678;
    }
    assert_true(fabs(series_total(s, SERIES_USED) / sum - 1) < 1e-9);
    assert_true(series_used_bins(s) <= SERIES_BINS);
    assert_true(s->most[SERIES_USED] > 5.9);
    free(s);
}

/* First come, first served on c servers: a job starts when it is there and the server that is free
 * first is. */
static void test_many_servers(void **state)
{
    struct workload *w = serial(3000, 10, 75, 21);
    struct sim_machine *m = machine(2, 4);
    struct sim_result fifo = simulated(m, w, FIFO), easy = simulated(m, w, EASY);
    int64_t free_at[8] = { 0 };

    (void)state;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t first = 0;
        int64_t start;

        for (uint32_t k = 1; k < 8; k++)
            if (free_at[k] < free_at[first])
                first = k;
        start = MAX(w->jobs[i].submit_us, free_at[first]);
        free_at[first] = start + w->jobs[i].run_us;
        assert_true(fifo.jobs[i].start_us == start);
        assert_true(easy.jobs[i].start_us == start); /* nothing to fill */
    }
    sim_result_done(&fifo);
    sim_result_done(&easy);
    machine_free(m);
    workload_free(w);
}

/* M/M/1 at load 0.5: the mean wait is the mean run time. */
static void test_one_server(void **state)
{
    struct workload *w = serial(60000, 20, 10, 4);
    struct sim_machine *m = machine(1, 1);
    struct sim_result r = simulated(m, w, EASY);
    struct stats s;

    (void)state;
    assert_int_equal(stats_make(m, w, &r, &s), 0);
    assert_true(fabs(s.wait_s.mean / 10 - 1) < 0.08);
    assert_true(fabs(s.utilisation - 0.5) < 0.02);
    stats_done(&s);
    sim_result_done(&r);
    machine_free(m);
    workload_free(w);
}

struct change {
    int64_t at_us;
    int64_t cpus;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;

    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return (x->cpus > y->cpus) - (x->cpus < y->cpus); /* what is given back first */
}

/* No node ever holds more than it has; every job has what it asked for, for as long as it runs,
 * once. */
static void check_books(const struct sim_machine *m, const struct workload *w,
                        const struct sim_result *r)
{
    struct change *c = calloc(2 * r->nspans + 2, sizeof(*c));
    double held = 0;

    assert_int_equal(r->never, 0);
    assert_int_equal(r->ended, w->n);
    for (size_t i = 0; i < w->n; i++) {
        const struct sim_outcome *o = &r->jobs[i];

        assert_true(o->start_us >= w->jobs[i].submit_us);
        assert_true(o->end_us - o->start_us == sim_job_length_us(&w->jobs[i]));
        assert_int_equal(o->cpus, sim_job_cpus(&w->jobs[i]));
        held += o->cpus * (double)(o->end_us - o->start_us) * 1e-6;
    }
    for (uint32_t node = 0; node < m->nnodes; node++) {
        int64_t used = 0;
        size_t n = 0;

        for (size_t i = 0; i < w->n; i++) {
            for (uint32_t k = 0; k < r->jobs[i].nspans; k++) {
                const struct sim_span *s = &r->spans[r->jobs[i].span + k];

                if (node < s->first || node > s->last)
                    continue;
                c[n++] = (struct change){ r->jobs[i].start_us, s->cpus };
                c[n++] = (struct change){ r->jobs[i].end_us, -(int64_t)s->cpus };
            }
        }
        qsort(c, n, sizeof(*c), by_time);
        for (size_t i = 0; i < n; i++) {
            used += c[i].cpus;
            assert_true(used >= 0 && used <= m->nodes[node].cpus);
        }
        assert_int_equal(used, 0);
    }
    assert_true(fabs(held / workload_cpu_seconds(w) - 1) < 1e-9); /* work is conserved */
    assert_true(fabs(series_total(r->series, SERIES_USED) / held - 1) < 1e-6);
    free(c);
}

static void test_policies(void **state)
{
    struct workload *w = lublin(1500, 16, 16, 0.85);
    struct sim_machine *m = machine(16, 16);
    struct sim_result fifo = simulated(m, w, FIFO), easy = simulated(m, w, EASY);
    struct stats sf, se;

    (void)state;
    check_books(m, w, &fifo);
    check_books(m, w, &easy);
    for (size_t i = 1; i < w->n; i++) /* nobody overtakes */
        assert_true(fifo.jobs[i].start_us >= fifo.jobs[i - 1].start_us);
    assert_int_equal(stats_make(m, w, &fifo, &sf), 0);
    assert_int_equal(stats_make(m, w, &easy, &se), 0);
    assert_true(easy.backfill.started > 100);
    assert_true(se.wait_s.mean < sf.wait_s.mean);
    assert_true(se.work_utilisation > sf.work_utilisation && se.work_utilisation <= 1);
    stats_done(&sf);
    stats_done(&se);
    sim_result_done(&fifo);
    sim_result_done(&easy);
    machine_free(m);
    workload_free(w);
}

/* Work is conserved, the books are right, and nobody waits longer than in strict order. */
static void test_conservative(void **state)
{
    struct workload *w = lublin(1500, 16, 16, 0.85);
    struct sim_machine *m = machine(16, 16);
    struct sim_result fifo = simulated(m, w, FIFO), cons = simulated(m, w, CONSERVATIVE);
    struct stats sf, sc;

    (void)state;
    check_books(m, w, &cons);
    assert_int_equal(stats_make(m, w, &fifo, &sf), 0);
    assert_int_equal(stats_make(m, w, &cons, &sc), 0);
    assert_true(cons.backfill.started > 100);
    assert_true(sc.wait_s.mean < sf.wait_s.mean / 2);
    assert_true(sc.wait_s.max <= sf.wait_s.max);
    stats_done(&sf);
    stats_done(&sc);
    sim_result_done(&fifo);
    sim_result_done(&cons);
    machine_free(m);
    workload_free(w);
}

/* Four CPUs.  A holds two for 10 minutes; B wants three and C all four for as long; E one for an
 * hour.  EASY lets E go first, for B keeps clear of it, and C waits an hour; a conservative plan
 * keeps C's place. */
static void test_second_in_line(void **state)
{
    static const struct {
        uint32_t cpus, minutes;
    } jobs[] = { { 2, 10 }, { 3, 10 }, { 4, 10 }, { 1, 60 } };
    struct sim_machine *m = machine(1, 4);
    struct sim_result easy, cons;
    struct workload *w;
    int64_t t0;

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    t0 = w->began_us;
    for (uint32_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        const struct sim_job j = { .id = i + 1,
                                   .part = WORKLOAD_NO_PART,
                                   .submit_us = t0,
                                   .tasks = jobs[i].cpus,
                                   .cpus_per_task = 1,
                                   .limit_min = jobs[i].minutes,
                                   .run_us = jobs[i].minutes * INT64_C(60000000) };

        assert_int_equal(workload_add(w, &j), 0);
    }
    easy = simulated(m, w, EASY);
    cons = simulated(m, w, CONSERVATIVE);
    assert_true(easy.jobs[3].start_us == t0);
    assert_true(easy.jobs[1].start_us == t0 + INT64_C(600000000));
    assert_true(easy.jobs[2].start_us == t0 + INT64_C(3600000000));
    assert_true(cons.jobs[1].start_us == t0 + INT64_C(600000000));
    assert_true(cons.jobs[2].start_us == t0 + INT64_C(1200000000));
    assert_true(cons.jobs[3].start_us == t0 + INT64_C(1800000000));
    sim_result_done(&easy);
    sim_result_done(&cons);
    machine_free(m);
    workload_free(w);
}

/* A job as wide as the machine starts although small ones never stop coming. */
static void test_no_starvation(void **state)
{
    struct workload *w = serial(4000, 10, 76, 5);
    struct sim_job wide = { .id = 9999,
                            .part = WORKLOAD_NO_PART,
                            .tasks = 8,
                            .cpus_per_task = 1,
                            .run_us = 1000000,
                            .limit_min = 1 };
    struct sim_machine *m = machine(2, 4);
    struct sim_result r;
    size_t at = 0;

    (void)state;
    for (size_t i = 0; i < w->n; i++)
        w->jobs[i].limit_min = 1 + (uint32_t)(w->jobs[i].run_us / 60000000);
    wide.submit_us = w->jobs[1000].submit_us + 1;
    assert_int_equal(workload_add(w, &wide), 0);
    workload_sort(w);
    while (w->jobs[at].id != 9999)
        at++;
    r = simulated(m, w, EASY);
    /* Whoever runs when it comes is gone within the longest limit, and nobody may delay it. */
    for (size_t i = 0; i < at; i++)
        assert_true(r.jobs[at].start_us <=
                    MAX(w->jobs[at].submit_us, r.jobs[i].start_us) + 1440 * INT64_C(60000000));
    assert_true(r.jobs[at].start_us < r.jobs[at + 500].start_us);
    sim_result_done(&r);
    machine_free(m);
    workload_free(w);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static struct sim_result in_turns(const struct sim_machine *m, const struct workload *w,
                                  int64_t slice_s)
{
    const struct sim_config config = { .sched = { .select = SCHED_SELECT_CORE, .backfill = true },
                                       .slice_us = slice_s * 1000000 };
    struct sim_result r;

    assert_int_equal(sim_run(m, w, &config, &r, NULL), 0);
    return r;
}

/* Two of 100 s, slices of 30: 30 each in turn, the first ends with its fourth turn.  A time
 * limit counts what ran. */
static void test_two_in_turns(void **state)
{
    struct workload *w;
    struct sim_machine *m = sharing_machine(1, 1, "FORCE:2");
    struct sim_result r;

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    for (uint32_t i = 0; i < 2; i++) {
        struct sim_job j = { .id = i + 1,
                             .part = WORKLOAD_NO_PART,
                             .tasks = 1,
                             .cpus_per_task = 1,
                             .limit_min = i ? 1 : 10,
                             .submit_us = 1000000000,
                             .run_us = 100000000 };

        assert_int_equal(workload_add(w, &j), 0);
    }
    r = in_turns(m, w, 30);
    assert_int_equal(r.jobs[0].start_us - r.begin_us, 0);
    assert_int_equal(r.jobs[1].start_us - r.begin_us, 0);
    assert_int_equal(r.jobs[1].end_us - r.begin_us, 120000000); /* its limit: a minute */
    assert_int_equal(r.jobs[0].end_us - r.begin_us, 160000000);
    sim_result_done(&r);
    w->jobs[1].limit_min = 10;
    r = in_turns(m, w, 30);
    assert_int_equal(r.jobs[0].end_us - r.begin_us, 190000000);
    assert_int_equal(r.jobs[1].end_us - r.begin_us, 200000000);
    sim_result_done(&r);
    machine_free(m);
    workload_free(w);
}

/* Short turns on one server share it: at load 0.5 a job is there for twice the time it runs, in
 * the mean, whatever the order and however the times are spread; nothing is lost: the last ends
 * when it would without turns. */
static void test_shared_server(void **state)
{
    struct workload *w = serial(4000, 200, 100, 3);
    struct sim_machine *m = sharing_machine(1, 1, "FORCE:64");
    struct sim_machine *one = machine(1, 1);
    struct sim_result r = in_turns(m, w, 5), fifo = simulated(one, w, FIFO);
    double there = 0, run = 0;
    uint64_t most = 0;

    (void)state;
    for (size_t i = 0; i < w->n; i++) {
        there += (double)(r.jobs[i].end_us - w->jobs[i].submit_us);
        run += (double)w->jobs[i].run_us;
        most = MAX(most, (uint64_t)(r.jobs[i].start_us - w->jobs[i].submit_us));
    }
    if (fabs(there / run - 2) > 0.2)
        fail_msg("a job is there %.3f times as long as it runs", there / run);
    assert_int_equal(most, 0); /* all start at once: 64 are never there */
    assert_int_equal(r.end_us, fifo.end_us);
    sim_result_done(&r);
    sim_result_done(&fifo);
    machine_free(m);
    machine_free(one);
    workload_free(w);
}

/* Wide and narrow ones on several nodes: all end, and at no time do more CPUs run than there
 * are. */
static void test_parallel_turns(void **state)
{
    struct workload *w = lublin(300, 8, 8, 0.9);
    struct sim_machine *m = sharing_machine(8, 8, "FORCE:3");
    struct sim_result r = in_turns(m, w, 600);
    int64_t work = 0;

    (void)state;
    for (size_t i = 0; i < w->n; i++) {
        assert_true(r.jobs[i].start_us > 0 && r.jobs[i].end_us < INT64_MAX);
        assert_true(r.jobs[i].end_us - r.jobs[i].start_us >=
                    MIN(w->jobs[i].run_us, (int64_t)w->jobs[i].limit_min * 60000000));
        work += (int64_t)r.jobs[i].cpus *
                MIN(w->jobs[i].run_us, (int64_t)w->jobs[i].limit_min * 60000000);
    }
    assert_true(r.series->most[SERIES_USED] <= 64);
    assert_true(work <= 64 * (r.end_us - r.begin_us));
    sim_result_done(&r);
    machine_free(m);
    workload_free(w);
}

static void test_limits(void **state)
{
    struct workload *w = serial(1, 1, 1, 1);
    struct sim_machine *m = machine(1, 1);
    struct sim_job never = { .id = 2,
                             .part = WORKLOAD_NO_PART,
                             .tasks = 2,
                             .cpus_per_task = 1,
                             .run_us = 1,
                             .limit_min = 1 };
    struct sim_result r;
    struct stats s;

    (void)state;
    w->jobs[0].run_us = 600000000;
    w->jobs[0].limit_min = 5;
    never.submit_us = w->jobs[0].submit_us;
    assert_int_equal(workload_add(w, &never), 0);
    r = simulated(m, w, EASY);
    assert_true(r.jobs[0].end_us - r.jobs[0].start_us == 300000000);
    assert_true(r.jobs[1].start_us == 0);
    assert_int_equal(r.never, 1);
    assert_int_equal(stats_make(m, w, &r, &s), 0);
    assert_int_equal(s.at_limit, 1);
    stats_done(&s);
    sim_result_done(&r);
    machine_free(m);
    workload_free(w);
}

/* Same input, same output, byte for byte; and the markup of names is not taken for ours. */
static void test_reports(void **state)
{
    struct workload *w = lublin(400, 8, 8, 0.8);
    struct sim_machine *m = machine(8, 8);
    char *json[2] = { NULL, NULL };
    struct strbuf html = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sim_result r = simulated(m, w, EASY);
        struct strbuf sb = STRBUF_INIT;
        struct stats s;

        assert_int_equal(stats_make(m, w, &r, &s), 0);
        struct report_run run = { "easy", &r, &s };
        struct report rp = {
            .title = "a <b> \"c\"", .machine = m, .workload = w, .runs = &run, .nruns = 1
        };

        report_json(&rp, &sb);
        assert_int_equal(strbuf_detach(&sb, &json[i]), 0);
        strbuf_reset(&html);
        report_html(&rp, &html);
        stats_done(&s);
        sim_result_done(&r);
    }
    assert_string_equal(json[0], json[1]);
    assert_non_null(strstr(json[0], "\"title\":\"a <b> \\\"c\\\"\""));
    assert_non_null(strstr(strbuf_str(&html), "a &lt;b&gt;"));
    assert_null(strstr(strbuf_str(&html), "<b>"));
    assert_null(strstr(strbuf_str(&html), "<script"));
    assert_null(strstr(strbuf_str(&html), "nan"));
    strbuf_done(&html);
    free(json[0]);
    free(json[1]);
    machine_free(m);
    workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),         cmocka_unit_test(test_series),
        cmocka_unit_test(test_many_servers),   cmocka_unit_test(test_one_server),
        cmocka_unit_test(test_policies),       cmocka_unit_test(test_no_starvation),
        cmocka_unit_test(test_conservative),   cmocka_unit_test(test_second_in_line),
        cmocka_unit_test(test_two_in_turns),   cmocka_unit_test(test_shared_server),
        cmocka_unit_test(test_parallel_turns), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_reports),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
