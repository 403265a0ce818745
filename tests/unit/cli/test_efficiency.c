/* test_efficiency.c - what a run used of what it held, and the one sentence about it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/words/efficiency.h"

#define S INT64_C(1000000)

static const struct {
    const char *what;
    Pst__JobState state;
    uint32_t cpus, limit_min;
    uint64_t mem_mib, rss_kib;
    int64_t ran_s, cpu_s;
    double cpu, mem; /* per cent */
    const char *advice;
    bool better;
} cases[] = {
    { "a good one", PST__JOB_STATE__JOB_COMPLETED, 4, 10, 4096, 3 << 20, 500, 1900, 95, 75,
      "What it asked for fits what it used.", false },
    { "one CPU of eight", PST__JOB_STATE__JOB_COMPLETED, 8, 0, 100, 50 << 10, 1000, 1000, 12.5, 50,
      "It kept 1.0 of its 8 CPUs busy: ask for fewer CPUs, or let the program use them all.",
      true },
    { "too much memory", PST__JOB_STATE__JOB_COMPLETED, 1, 0, 65536, 2 << 20, 1000, 900, 90, 3.125,
      "It used 2G of 64G of memory on a node: --mem=2560M would do.", true },
    { "too long a limit", PST__JOB_STATE__JOB_COMPLETED, 1, 600, 100, 90 << 10, 60, 60, 100, 90,
      "It took 00:01:00 of a limit of 10:00:00: with a shorter one (--time) it may start sooner.",
      true },
    { "out of memory", PST__JOB_STATE__JOB_OUT_OF_MEMORY, 1, 0, 400, 400 << 10, 60, 60, 100, 100,
      "It ran out of memory: ask for more than the 400M it had on a node (--mem, --mem-per-cpu).",
      true },
    { "out of time", PST__JOB_STATE__JOB_TIMEOUT, 1, 1, 400, 200 << 10, 60, 60, 100, 50,
      "It was ended at its time limit of 00:01:00: ask for more (--time), or let it save what it has done "
      "(--signal).",
      true },
    { "too short", PST__JOB_STATE__JOB_COMPLETED, 8, 0, 100, 1024, 2, 1, 6.25, 1,
      "It ran too short to tell.", false },
};

static void test_advice(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf text = STRBUF_INIT;
        Pst__AllocGroup g = PST__ALLOC_GROUP__INIT, *groups = &g;
        Pst__StepUsage u = PST__STEP_USAGE__INIT;
        Pst__StepRecord st = PST__STEP_RECORD__INIT, *steps = &st;
        Pst__JobRecord j = PST__JOB_RECORD__INIT;
        Pst__AcctJob a = PST__ACCT_JOB__INIT;
        Pst__Alloc alloc = PST__ALLOC__INIT;
        uint32_t node = 0;
        struct efficiency e;
        bool better;

        g.nodes = 1;
        g.cpus = cases[i].cpus;
        g.mem_mib = cases[i].mem_mib;
        alloc.groups = &groups;
        alloc.n_groups = 1;
        alloc.node_ids = &node;
        alloc.n_node_ids = 1;
        alloc.total_cpus = cases[i].cpus;
        u.user_us = (uint64_t)(cases[i].cpu_s * S);
        u.max_rss_kib = cases[i].rss_kib;
        st.usage = &u;
        st.num_tasks = 1;
        j.state = cases[i].state;
        j.submit_us = j.eligible_us = 1000 * S;
        j.start_us = 1030 * S;
        j.end_us = (1030 + cases[i].ran_s) * S;
        j.time_limit_min = cases[i].limit_min;
        j.alloc = &alloc;
        a.job = &j;
        a.steps = &steps;
        a.n_steps = 1;
        efficiency_of(&a, 9999 * S, &e);
        better = efficiency_advice(&a, &e, &text);
        if (strcmp(strbuf_str(&text), cases[i].advice) != 0)
            fail_msg("%s: %s", cases[i].what, strbuf_str(&text));
        assert_int_equal(better, cases[i].better);
        assert_int_equal(e.wait_s, 30);
        assert_int_equal(e.elapsed_s, cases[i].ran_s);
        if (efficiency_cpu(&e) != cases[i].cpu || efficiency_mem(&e) != cases[i].mem)
            fail_msg("%s: %f %f", cases[i].what, efficiency_cpu(&e), efficiency_mem(&e));
    }
}

/* Four CPUs of one node for 500 of 600 seconds, task 3 of an array; measured with `steps`. */
static void show_run(size_t n_steps, bool started, struct strbuf *row, struct strbuf *report)
{
    Pst__GresAlloc gpu = PST__GRES_ALLOC__INIT, *gres = &gpu;
    Pst__AllocGroup g = PST__ALLOC_GROUP__INIT, *groups = &g;
    Pst__StepUsage u = PST__STEP_USAGE__INIT;
    Pst__StepRecord st = PST__STEP_RECORD__INIT, *steps = &st;
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    Pst__AcctJob a = PST__ACCT_JOB__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    uint32_t node = 0;

    gpu.name = (char *)(uintptr_t) "gpu";
    gpu.count = 2;
    g.gres = &gres;
    g.n_gres = 1;
    g.nodes = 1;
    g.cpus = alloc.total_cpus = 4;
    g.mem_mib = 4096;
    alloc.groups = &groups;
    alloc.n_groups = 1;
    alloc.node_ids = &node;
    alloc.n_node_ids = 1;
    u.user_us = (uint64_t)(1500 * S);
    u.max_rss_kib = 1 << 20;
    st.usage = &u;
    st.num_tasks = 2;
    j.name = (char *)(uintptr_t) "train";
    j.has_array_task_id = true;
    j.array_job_id = 12;
    j.array_task_id = 3;
    j.state = started ? PST__JOB_STATE__JOB_COMPLETED : PST__JOB_STATE__JOB_PENDING;
    j.submit_us = 1000 * S;
    j.time_limit_min = 10;
    if (started) {
        j.start_us = 1030 * S;
        j.end_us = 1530 * S;
        j.alloc = &alloc;
    } else {
        j.min_cpus = 4;
    }
    a.job = &j;
    a.steps = &steps;
    a.n_steps = n_steps;
    efficiency_row(&a, 1100 * S, true, row);
    efficiency_report(&a, 1100 * S, report);
}

/* sacct --efficiency: cells that are not known are empty, and a page says what it leaves out. */
static void test_shown(void **state)
{
    static const struct {
        size_t steps;
        bool started;
        const char *row, *report;
    } rows[] = {
        { 1, true, "12_3|COMPLETED|00:00:30|00:08:20|83.3%|4|75.0%|2G|50.0%\n",
          "Job         12_3  train  COMPLETED\n"
          "Waited      00:00:30\n"
          "Ran         00:08:20 of 00:10:00, on 1 node\n"
          "CPU         75.0% of 4: 3.0 busy on average\n"
          "Memory      2G of 4G on a node (50.0%)\n"
          "GPUs        2 held; their use is not measured\n"
          "Advice      What it asked for fits what it used.\n" },
        { 0, true, "12_3|COMPLETED|00:00:30|00:08:20|83.3%|4|||\n",
          "Job         12_3  train  COMPLETED\n"
          "Waited      00:00:30\n"
          "Ran         00:08:20 of 00:10:00, on 1 node\n"
          "GPUs        2 held; their use is not measured\n"
          "Advice      Nothing was measured while it ran.\n" },
        { 0, false, "12_3|PENDING|00:01:40|00:00:00||0|||\n",
          "Job         12_3  train  PENDING\n"
          "Waited      00:01:40\n"
          "Advice      It has not started yet.\n" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_val_(strbuf_done) struct strbuf row = STRBUF_INIT, report = STRBUF_INIT;

        show_run(rows[i].steps, rows[i].started, &row, &report);
        assert_string_equal(strbuf_str(&row), rows[i].row);
        assert_string_equal(strbuf_str(&report), rows[i].report);
    }
}

/* Names above their columns, to the left or to the right as the cells are. */
static void test_header(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf plain = STRBUF_INIT, parsable = STRBUF_INIT;

    (void)state;
    efficiency_header(&parsable, true);
    assert_string_equal(strbuf_str(&parsable),
                        "JobID|State|Planned|Elapsed|TimeEff|AllocCPUS|CPUEff|MaxMem|MemEff\n");
    efficiency_header(&plain, false);
    assert_int_equal(strncmp(strbuf_str(&plain), "JobID        State          Planned ", 36), 0);
    assert_non_null(strstr(strbuf_str(&plain), "\n------------ ---------- -----------"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_advice), cmocka_unit_test(test_shown),
                                        cmocka_unit_test(test_header) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
