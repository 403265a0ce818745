/* test_stats.c - the figures of a simulated run, each worked out by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/stats.h"

#define SEC INT64_C(1000000)
#define MIN_US (60 * SEC)
#define HOUR (3600 * SEC)
#define BEGIN (INT64_C(1700000000) * SEC)

static void expect_near(double got, double want)
{
    double far = got > want ? got - want : want - got;

    if (far > 1e-6)
        fail_msg("%.9f in place of %.9f", got, want);
}

struct run {
    struct sim_machine m;
    struct workload *w;
    struct sim_result r;
    struct sim_outcome jobs[32];
};

static void begin_run(struct run *run, uint64_t cpus)
{
    *run = (struct run){ .m = { .cpus = cpus } };
    assert_int_equal(workload_new(&run->w), 0);
    run->r.jobs = run->jobs;
    run->r.begin_us = BEGIN;
    run->r.series = malloc(sizeof(*run->r.series));
    assert_non_null(run->r.series);
    series_init(run->r.series, BEGIN);
}

static void end_run(struct run *run)
{
    workload_free(run->w);
    free(run->r.series);
}

/* One more job: submitted, started, ended so many seconds after the beginning. */
static struct sim_outcome *add_job(struct run *run, const char *user, int64_t submit, int64_t start,
                                   int64_t end, uint32_t cpus)
{
    struct sim_job j = { .id = (uint32_t)run->w->n + 1,
                         .part = WORKLOAD_NO_PART,
                         .submit_us = BEGIN + submit * SEC,
                         .run_us = (end - start) * SEC,
                         .limit_min = 60,
                         .tasks = cpus,
                         .cpus_per_task = 1 };
    struct sim_outcome *o = &run->jobs[run->w->n];

    assert_true(run->w->n < 32);
    assert_int_equal(name_index(&run->w->users, user, strlen(user), &j.user), 0);
    assert_int_equal(workload_add(run->w, &j), 0);
    *o = (struct sim_outcome){ .start_us = BEGIN + start * SEC,
                               .end_us = BEGIN + end * SEC,
                               .cpus = cpus,
                               .nnodes = 1,
                               .limit_min = 60 };
    run->r.njobs = run->w->n;
    return o;
}

static struct stats make_stats(struct run *run)
{
    struct stats s;

    assert_int_equal(stats_make(&run->m, run->w, &run->r, &s), 0);
    return s;
}

static const struct stats_class *class_of(const struct stats_classes *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    fail_msg("no class %s", name);
    return NULL;
}

static void test_nothing(void **state)
{
    struct run run;
    struct stats s;

    (void)state;
    begin_run(&run, 4);
    s = make_stats(&run);
    assert_int_equal(s.wait_s.n, 0);
    assert_int_equal(s.by_user.n, 0);
    expect_near(s.utilisation, 0);
    expect_near(s.fairness, 1);
    stats_done(&s);
    end_run(&run);
}

/* Waits of 0, 20, 100 and 200 s; runs of 100, 10, 1 and 100 s. */
static void test_waits(void **state)
{
    struct sim_outcome *never;
    struct run run;
    struct stats s;

    (void)state;
    begin_run(&run, 4);
    (void)add_job(&run, "ann", 0, 0, 100, 1);
    add_job(&run, "ann", 0, 20, 30, 1)->backfilled = true;
    (void)add_job(&run, "bob", 10, 110, 111, 2);
    (void)add_job(&run, "bob", 10, 210, 310, 17);
    never = add_job(&run, "zoe", 0, 0, 0, 1);
    never->start_us = never->end_us = 0;
    run.r.never = 1;
    run.r.end_us = BEGIN + 310 * SEC;
    s = make_stats(&run);

    assert_int_equal(s.wait_s.n, 4);
    expect_near(s.wait_s.mean, 80);
    expect_near(s.wait_s.median, 60);
    expect_near(s.wait_s.p95, 200);
    expect_near(s.wait_s.max, 200);
    /* (wait + run) / max(run, 10), at least 1: 1, 3, 10.1, 3 */
    expect_near(s.slowdown.mean, (1 + 3 + 10.1 + 3) / 4);
    expect_near(s.slowdown.median, 3);
    expect_near(s.slowdown.max, 10.1);
    expect_near(s.backfilled, 0.25);
    expect_near(s.makespan_s, 310);

    assert_int_equal(s.by_user.n, 2);
    assert_string_equal(class_of(&s.by_user, "ann")->name, "ann");
    expect_near(class_of(&s.by_user, "ann")->slowdown.mean, 2);
    expect_near(class_of(&s.by_user, "bob")->slowdown.mean, 6.55);
    expect_near(class_of(&s.by_user, "bob")->cpu_hours, (2.0 + 1700) / 3600);
    expect_near(s.fairness, (2 + 6.55) * (2 + 6.55) / (2 * (4 + 6.55 * 6.55)));
    assert_int_equal(class_of(&s.by_size, "1 CPU")->wait_s.n, 2);
    assert_int_equal(class_of(&s.by_size, "2-4 CPUs")->wait_s.n, 1);
    assert_int_equal(class_of(&s.by_size, "17-64 CPUs")->wait_s.n, 1);
    assert_int_equal(class_of(&s.by_part, "(default)")->wait_s.n, 4);
    stats_done(&s);
    assert_null(s.by_user.items);
    end_run(&run);
}

/* A run too short to count is a wait of its own, never a slowdown below 1. */
static void test_short_run(void **state)
{
    struct run run;
    struct stats s;

    (void)state;
    begin_run(&run, 4);
    (void)add_job(&run, "ann", 0, 0, 1, 1);
    s = make_stats(&run);
    expect_near(s.slowdown.mean, 1);
    expect_near(s.wait_s.p95, 0);
    stats_done(&s);
    end_run(&run);
}

static void test_p95(void **state)
{
    struct run run;
    struct stats s;

    (void)state;
    begin_run(&run, 4);
    for (int64_t i = 20; i >= 1; i--) /* 1..20: 19 of 20 waited at most 19 */
        (void)add_job(&run, "ann", 0, i, i + 100, 1);
    s = make_stats(&run);
    expect_near(s.wait_s.p95, 19);
    expect_near(s.wait_s.median, 10.5);
    stats_done(&s);
    end_run(&run);
}

/* A bin holds waits below its edge, the last all others. */
static void test_bins(void **state)
{
    static const struct {
        int64_t wait_s;
        const char *name;
    } rows[] = { { 0, "at once" },     { 1, "< 10 s" },     { 9, "< 10 s" },
                 { 10, "< 1 min" },    { 59, "< 1 min" },   { 60, "< 5 min" },
                 { 899, "< 15 min" },  { 3600, "< 4 h" },   { 86399, "< 1 d" },
                 { 86400, "< 3 d" },   { 604799, "< 7 d" }, { 604800, "longer" },
                 { 9000000, "longer" } };
    struct run run;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct stats s;

        begin_run(&run, 4);
        (void)add_job(&run, "ann", 0, rows[i].wait_s, rows[i].wait_s + 60, 1);
        s = make_stats(&run);
        for (uint32_t bin = 0; bin < STATS_WAIT_BINS; bin++)
            assert_int_equal(s.waits[bin], strcmp(stats_wait_names[bin], rows[i].name) == 0);
        stats_done(&s);
        end_run(&run);
    }
}

/* 4 CPUs for 100 s: 2 used for 40 s, then 4 for 40 s, then none; the last job came after 50 s. */
static void test_use(void **state)
{
    struct sim_outcome *o;
    struct run run;
    struct stats s;

    (void)state;
    begin_run(&run, 4);
    o = add_job(&run, "ann", 0, 0, 80, 2);
    o->limit_min = 1; /* it would have run for longer */
    (void)add_job(&run, "ann", 50, 50, 80, 2);
    series_set(run.r.series, SERIES_USED, 2);
    series_set(run.r.series, SERIES_QUEUE, 3);
    series_set(run.r.series, SERIES_FREE, 2);
    series_set(run.r.series, SERIES_STRANDED, 1);
    series_to(run.r.series, BEGIN + 40 * SEC);
    series_set(run.r.series, SERIES_USED, 4);
    series_set(run.r.series, SERIES_QUEUE, 0);
    series_set(run.r.series, SERIES_FREE, 0);
    series_set(run.r.series, SERIES_STRANDED, 0);
    series_set(run.r.series, SERIES_BROKEN, 0.5);
    series_to(run.r.series, BEGIN + 80 * SEC);
    series_set(run.r.series, SERIES_USED, 0);
    series_set(run.r.series, SERIES_BROKEN, 0);
    series_to(run.r.series, BEGIN + 100 * SEC);
    run.r.end_us = BEGIN + 100 * SEC;
    s = make_stats(&run);
    expect_near(s.utilisation, (2 * 40 + 4 * 40) / 400.0);
    expect_near(s.work_utilisation, (2 * 40 + 4 * 10) / 200.0);
    expect_near(s.stranded, 0.5);
    expect_near(s.queue_mean, 1.2);
    expect_near(s.queue_max, 3);
    expect_near(s.broken_mean, 0.2);
    expect_near(s.broken_max, 0.5);
    assert_int_equal(s.at_limit, 1);
    stats_done(&s);
    end_run(&run);
}

/* Limits, sizes and segments fall into the class that names them. */
static void test_classes(void **state)
{
    static const struct {
        uint32_t limit_min;
        const char *name;
    } limits[] = { { 15, "<= 15 min" },   { 16, "<= 1 h" },     { 60, "<= 1 h" },
                   { 61, "<= 4 h" },      { 720, "<= 12 h" },   { 1440, "<= 1 day" },
                   { 4320, "<= 3 days" }, { 4321, "> 3 days" }, { SCHED_UNLIMITED, "> 3 days" } };
    static const struct {
        uint32_t cpus;
        const char *name;
    } sizes[] = { { 1, "1 CPU" },      { 4, "2-4 CPUs" },    { 5, "5-16 CPUs" },
                  { 16, "5-16 CPUs" }, { 64, "17-64 CPUs" }, { 65, "65-256 CPUs" } };
    static const struct {
        uint32_t nodes, segment;
        const char *name;
    } segments[] = { { 8, 0, "one, or none" },  { 8, 8, "one, or none" },
                     { 16, 8, "2-3 segments" }, { 24, 8, "2-3 segments" },
                     { 32, 8, "4-7 segments" }, { 64, 8, "8-15 segments" } };
    struct run run;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        struct stats s;

        begin_run(&run, 4);
        (void)add_job(&run, "ann", 0, 0, 60, sizes[i % ARRAY_SIZE(sizes)].cpus);
        run.w->jobs[0].limit_min = limits[i].limit_min;
        run.w->jobs[0].nodes = segments[i % ARRAY_SIZE(segments)].nodes;
        run.w->jobs[0].segment = segments[i % ARRAY_SIZE(segments)].segment;
        s = make_stats(&run);
        assert_string_equal(s.by_limit.items[0].name, limits[i].name);
        assert_string_equal(s.by_size.items[0].name, sizes[i % ARRAY_SIZE(sizes)].name);
        assert_string_equal(s.by_segments.items[0].name, segments[i % ARRAY_SIZE(segments)].name);
        stats_done(&s);
        end_run(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),   cmocka_unit_test(test_waits),
        cmocka_unit_test(test_short_run), cmocka_unit_test(test_p95),
        cmocka_unit_test(test_bins),      cmocka_unit_test(test_use),
        cmocka_unit_test(test_classes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
