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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_advice) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
