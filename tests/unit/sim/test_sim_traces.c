/* test_sim_traces.c - readers of traces, and what the generators draw */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/generate.h"
#include "sim/rng.h"
#include "sim/sacctlog.h"
#include "sim/swf.h"

#define JOB "8 -1 -1 8 200 -1 1 3 1 1 2 1 -1 -1"

typedef int parse_fn(const char *text, size_t len, struct workload *w, struct err *err);

static struct workload *parsed(parse_fn *parse, const char *text, int want)
{
    struct workload *w;
    struct err err = { .text = "" };

    assert_int_equal(workload_new(&w), 0);
    assert_int_equal(parse(text, strlen(text), w, &err), want);
    assert_int_equal(want != 0, err.text[0] != '\0');
    return w;
}

static void test_swf(void **state)
{
    struct workload *w =
        parsed(swf_parse,
               "; MaxNodes: 4\n;MaxProcs: 32\n; UnixStartTime: 1700000000\n\n"
               "2 50 5 100 " JOB "\n1 0 -1 61 4 -1 1025 -1 -1 -1 1 9 1 1 -1 1 -1 -1\r\n"
               "3 60 -1 -1 " JOB,
               0);

    (void)state;
    assert_int_equal(w->n, 2);
    assert_int_equal(w->skipped, 1);
    assert_int_equal(w->max_nodes, 4);
    assert_int_equal(w->max_cpus, 32);
    assert_int_equal(w->jobs[0].id, 1); /* sorted */
    assert_int_equal(w->jobs[0].tasks, 4);
    assert_int_equal(w->jobs[0].limit_min, 2); /* no request: the run time, rounded up */
    assert_int_equal(w->jobs[0].part, WORKLOAD_NO_PART);
    assert_string_equal(name_nth(&w->users, w->jobs[0].user), "user9");
    assert_true(w->jobs[1].submit_us == INT64_C(1700000050000000));
    assert_true(w->jobs[1].recorded_start_us == INT64_C(1700000055000000));
    assert_int_equal(w->jobs[1].limit_min, 4);
    assert_string_equal(name_nth(&w->parts, w->jobs[1].part), "queue2");
    workload_free(w);
}

/* A job in two parts has a line for all of it; one that was cancelled in the queue never ran. */
static void test_swf_status(void **state)
{
    struct workload *w = parsed(swf_parse,
                                "; AllowOveruse: True\n"
                                "1 0 5 300 8 -1 -1 8 200 -1 1 3 1 1 2 1 -1 -1\n"
                                "1 0 5 100 8 -1 -1 8 200 -1 2 3 1 1 2 1 -1 -1\n"
                                "1 150 50 200 8 -1 -1 8 200 -1 3 3 1 1 2 1 -1 -1\n"
                                "1 400 0 9 8 -1 -1 8 200 -1 4 3 1 1 2 1 -1 -1\n"
                                "2 1 9 0 -1 -1 -1 8 200 -1 5 3 1 1 2 1 -1 -1\n"
                                "3 1 9 60 8 -1 -1 8 200 -1 5 3 1 1 2 1 -1 -1\n"
                                "4 1 9 30 8 -1 -1 8 200 -1 0 3 1 1 2 1 -1 -1\n"
                                "5 1 9 30 8 -1 -1 8 200 -1 -1 3 1 1 2 1 -1 -1\n",
                                0);

    (void)state;
    assert_int_equal(w->n, 4);
    assert_int_equal(w->skipped, 4);
    assert_int_equal(w->jobs[0].id, 1);
    assert_true(w->jobs[0].run_us == INT64_C(300000000));
    assert_int_equal(w->jobs[0].limit_min, 5); /* it may run longer than it asked for */
    assert_int_equal(w->jobs[1].id, 3);
    assert_int_equal(w->jobs[1].limit_min, 4);
    workload_free(w);
}

static void test_sentences(void **state)
{
    static const struct {
        parse_fn *parse;
        const char *text, *sentence;
    } cases[] = {
        { swf_parse, "; MaxProcs: 8\n1 0 5 100 8 -1\n", "line 2: fewer than 18 numbers" },
        { swf_parse, "1 0 5 100 8 -1 -1 8 200 -1 7 3 1 1 2 1 -1 -1\n",
          "line 1: field 11, the status, is none of -1 and 0 to 5" },
        { sacct_parse,
          "JobID|Submit|Elapsed|NCPUS\n1|2026-01-02T10:00:00|00:01:00|4\n2|2026-01-02T10:00:00|long|4\n",
          "line 3: no time in the column Elapsed: long" },
        { sacct_parse, "JobID|Submit|Elapsed|NCPUS\n1|2026-01-02T10:00:00|00:01:00|four\n",
          "line 2: no number in the column NCPUS: four" },
        { sacct_parse,
          "JobID|Submit|Elapsed|NCPUS|Timelimit\n1|2026-01-02T10:00:00|00:01:00|4|soon\n",
          "line 2: no time limit in the column Timelimit: soon" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct workload *w;
        struct err err = { .text = "" };

        assert_int_equal(workload_new(&w), 0);
        assert_int_equal(cases[i].parse(cases[i].text, strlen(cases[i].text), w, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].sentence);
        workload_free(w);
    }
}

/* Without Start, the state tells who ran; GPUs may be given by type alone. */
static void test_sacct_state(void **state)
{
    struct workload *w =
        parsed(sacct_parse,
               "JobID|State|Submit|Elapsed|ReqCPUS|ReqTRES\n"
               "1|COMPLETED|2026-01-02T10:00:00|00:01:00|4|cpu=4,gres/gpu:a=1,gres/gpu:b=2\n"
               "2|PENDING|2026-01-02T10:00:01|00:00:00|4|\n"
               "3|RUNNING|2026-01-02T10:00:01|00:30:00|4|\n"
               "4|CANCELLED by 0|2026-01-02T10:00:01|00:00:00|4|\n"
               "5|CANCELLED by 0|2026-01-02T10:00:02|00:00:07|4|cpu=4,gres/gpu=5,gres/gpu:a=5\n"
               "6|FAILED|2026-01-02T10:00:03|INVALID|4|\n"
               "7|TIMEOUT|2026-01-02T10:00:03|1-00:00:00|4|\n",
               0);

    (void)state;
    assert_int_equal(w->n, 3);
    assert_int_equal(w->skipped, 4);
    assert_int_equal(w->jobs[0].gpus, 3);
    assert_int_equal(w->jobs[1].id, 5);
    assert_int_equal(w->jobs[1].gpus, 5);
    assert_true(w->jobs[2].run_us == INT64_C(86400000000));
    workload_free(w);
}

static void test_bad(void **state)
{
    static const struct {
        parse_fn *parse;
        const char *text;
    } cases[] = {
        { swf_parse, "1 2 3\n" },
        { swf_parse, "hello\n" },
        { swf_parse, "1 0 5 100 " JOB " 7\n" },
        { swf_parse, "1 0 5 1e14 " JOB "\n" },
        { swf_parse, "1 0 5 nan " JOB "\n" },
        { sacct_parse, "" },
        { sacct_parse, "JobID|User\n" },
        { sacct_parse, "JobID|Submit|Elapsed\n" },
        { sacct_parse, "JobID|Submit|Elapsed|NCPUS\n1|2026-01-02T10:00:00|00:01:00\n" },
        { sacct_parse, "JobID|Submit|Elapsed|NCPUS\n1|2026-01-02T10:00:00|00:01:00|4|5\n" },
        { sacct_parse, "JobID|Submit|Elapsed|NCPUS\n1|never|00:01:00|4\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        workload_free(parsed(cases[i].parse, cases[i].text, -EINVAL));
}

static void test_sacct(void **state)
{
    struct workload *w =
        parsed(sacct_parse,
               "JobID|User|Partition|Submit|Start|End|ElapsedRaw|Timelimit|ReqCPUS|NNodes|ReqMem|"
               "ReqTRES|What\n"
               "7|ann|main,b|2026-01-02T10:00:00|2026-01-02T10:00:05|2026-01-02T10:01:05|60|1-00:"
               "00:00|4|2|8G|cpu=4,gres/gpu=2|x\n"
               "7.batch|||2026-01-02T10:00:05|2026-01-02T10:00:05|2026-01-02T10:01:05|60||4|1|||\n"
               "8|bob|main|2026-01-02T09:00:00|Unknown|Unknown|0|UNLIMITED|4|1|100Mc||\n"
               "9|bob|main|2026-01-02T09:00:00|2026-01-02T09:00:00|2026-01-02T09:02:00|120|"
               "UNLIMITED|4|1|100Mc||\n",
               0);
    const struct sim_job *j;

    (void)state;
    assert_int_equal(w->n, 2);
    assert_int_equal(w->skipped, 2);
    j = &w->jobs[0];
    assert_int_equal(j->id, 9);
    assert_int_equal(j->limit_min, SCHED_UNLIMITED);
    assert_int_equal(j->mem_per_cpu_mib, 100);
    assert_true(j->run_us == INT64_C(120000000));
    j = &w->jobs[1];
    assert_int_equal(j->limit_min, 1440);
    assert_int_equal(j->nodes, 2);
    assert_int_equal(j->tasks, 4);
    assert_int_equal(j->gpus, 2);
    assert_int_equal(j->mem_per_cpu_mib, 2048);
    assert_string_equal(name_nth(&w->parts, j->part), "main");
    assert_true(j->recorded_start_us - j->submit_us == 5000000);
    workload_free(w);
}

static void test_names(void **state)
{
    struct strtab t = { 0 };
    char name[WORKLOAD_MAX_NAME + 2] = "";
    uint32_t i, again;

    (void)state;
    for (uint32_t k = 0; k < 5000; k++) {
        (void)snprintf(name, sizeof(name), "u%u", k * 7919 % 5000);
        assert_int_equal(name_index(&t, name, strlen(name), &i), 0);
        assert_int_equal(name_index(&t, name, strlen(name), &again), 0);
        assert_int_equal(i, again);
        assert_string_equal(name_nth(&t, i), name);
    }
    assert_int_equal(t.n, 5000);
    memset(name, 'x', sizeof(name) - 1);
    assert_int_equal(name_index(&t, name, WORKLOAD_MAX_NAME + 1, &i), -E2BIG);
    strtab_done(&t);
}

/* Means and spreads of what is drawn, within four standard errors. */
static void test_random_numbers(void **state)
{
    enum { N = 40000 };
    struct rng r = { 5 };
    double gamma = 0, square = 0, expo = 0, small = 0;

    (void)state;
    for (int i = 0; i < N; i++) {
        double g = rng_gamma(&r, 4.2, 0.94);

        gamma += g;
        square += g * g;
        expo += rng_exponential(&r, 3);
        small += rng_gamma(&r, 0.5, 2);
    }
    assert_true(fabs(gamma / N - 4.2 * 0.94) < 4 * sqrt(4.2) * 0.94 / sqrt(N));
    assert_true(fabs(square / N - pow(gamma / N, 2) - 4.2 * 0.94 * 0.94) < 0.15);
    assert_true(fabs(expo / N - 3) < 4 * 3 / sqrt(N));
    assert_true(fabs(small / N - 1) < 4 * sqrt(2.0) / sqrt(N));
}

static struct workload *generated(enum sim_generator kind, uint32_t jobs, uint64_t seed,
                                  double load)
{
    const struct generate_params p = { .kind = kind,
                                       .jobs = jobs,
                                       .seed = seed,
                                       .nodes = 64,
                                       .cpus_per_node = 32,
                                       .gpus_per_node = 8,
                                       .load = load };
    struct workload *w;

    assert_int_equal(workload_new(&w), 0);
    assert_int_equal(generate(&p, w, NULL), 0);
    assert_int_equal(w->n, jobs);
    return w;
}

static void test_lublin(void **state)
{
    struct workload *w = generated(SIM_GEN_LUBLIN, 20000, 3, 0.8);
    double serial = 0, powers = 0,
           span = (double)(w->jobs[w->n - 1].submit_us - w->jobs[0].submit_us) * 1e-6;

    (void)state;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t n = w->jobs[i].tasks;

        assert_true(n >= 1 && n <= 2048);
        assert_true(w->jobs[i].limit_min * INT64_C(60000000) >= w->jobs[i].run_us);
        assert_true(w->jobs[i].run_us <= INT64_C(162755000000)); /* e^12 s */
        serial += n == 1;
        powers += n > 1 && !(n & (n - 1));
    }
    /* Some of the free sizes are one or a power of two by chance. */
    assert_true(serial / 20000 > 0.235 && serial / 20000 < 0.27);
    assert_true(powers / 20000 > 0.56 && powers / 20000 < 0.66);
    assert_true(fabs(workload_cpu_seconds(w) / (2048 * span) - 0.8) < 0.02);
    workload_free(w);
}

static void test_gpu_mix(void **state)
{
    struct workload *w = generated(SIM_GEN_GPU, 20000, 3, 0.7);
    uint32_t by_day[24] = { 0 };
    size_t arrays = 0;

    (void)state;
    for (size_t i = 0; i < w->n; i++) {
        const struct sim_job *j = &w->jobs[i];

        assert_true(j->gpus_per_node && !(j->gpus_per_node & (j->gpus_per_node - 1)) &&
                    j->gpus_per_node <= 8);
        assert_true(!(j->nodes & (j->nodes - 1)) &&
                    (j->nodes == 1 || (j->gpus_per_node == 8 && j->exclusive)));
        by_day[(j->submit_us - w->began_us) / INT64_C(3600000000) % 24]++;
        arrays += j->array != 0;
    }
    assert_true(arrays > 5000); /* a few sweeps bring many tasks */
    assert_true(by_day[13] + by_day[14] + by_day[15] > 2 * (by_day[1] + by_day[2] + by_day[3]));
    workload_free(w);
}

static void test_same_seed(void **state)
{
    struct workload *a = generated(SIM_GEN_LUBLIN, 500, 7, 0.8),
                    *b = generated(SIM_GEN_LUBLIN, 500, 7, 0.8);
    struct workload *c = generated(SIM_GEN_LUBLIN, 500, 8, 0.8);
    size_t differ = 0;

    (void)state;
    assert_memory_equal(a->jobs, b->jobs, a->n * sizeof(*a->jobs));
    for (size_t i = 0; i < a->n; i++)
        differ += a->jobs[i].run_us != c->jobs[i].run_us;
    assert_true(differ > 400);
    workload_free(a);
    workload_free(b);
    workload_free(c);
}

static void test_scale(void **state)
{
    struct workload *w = generated(SIM_GEN_LUBLIN, 300, 7, 0.8);
    int64_t first = w->jobs[0].submit_us, span = w->jobs[w->n - 1].submit_us - first;

    (void)state;
    workload_scale(w, 2);
    assert_true(w->jobs[0].submit_us == first);
    assert_true(llabs(2 * (w->jobs[w->n - 1].submit_us - first) - span) <= 2);
    workload_free(w);
}

/* However long the draw, no job runs for more than six days; some are cut there. */
static void test_longest(void **state)
{
    int64_t longest = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct workload *w = generated(SIM_GEN_GPU, 20000, seed, 0.8);

        for (size_t i = 0; i < w->n; i++)
            longest = w->jobs[i].run_us > longest ? w->jobs[i].run_us : longest;
        workload_free(w);
    }
    assert_int_equal(longest, 6 * INT64_C(86400000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swf),       cmocka_unit_test(test_swf_status),
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_sacct_state),
        cmocka_unit_test(test_bad),       cmocka_unit_test(test_sacct),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_random_numbers),
        cmocka_unit_test(test_lublin),    cmocka_unit_test(test_gpu_mix),
        cmocka_unit_test(test_same_seed), cmocka_unit_test(test_scale),
        cmocka_unit_test(test_longest),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
