/* test_efficiency_run.c - what a run used of what it held, and the advice that follows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "model/words/efficiency.h"

#define SUBMIT INT64_C(1700000000000000)
#define AFTER(s) (SUBMIT + (s)*USEC_PER_SEC)

/* A run on 2 nodes of 4 CPUs and 4,096 MiB each; with a step of 4 tasks on the fuller node. */
struct run {
    Pst__AcctJob a;
    Pst__JobRecord job;
    Pst__Alloc alloc;
    Pst__AllocGroup groups[2], *group_list[2];
    Pst__StepRecord step, *steps[1];
    Pst__Alloc step_alloc;
    Pst__AllocGroup step_groups[2], *step_group_list[2];
    Pst__StepUsage usage;
    uint32_t nodes[2];
};

/* It waited 100 seconds and ran for 2,000 of 7,200. */
static void make_run(struct run *r)
{
    *r = (struct run){ .a = PST__ACCT_JOB__INIT,
                       .job = PST__JOB_RECORD__INIT,
                       .alloc = PST__ALLOC__INIT,
                       .groups = { PST__ALLOC_GROUP__INIT, PST__ALLOC_GROUP__INIT },
                       .step = PST__STEP_RECORD__INIT,
                       .step_alloc = PST__ALLOC__INIT,
                       .step_groups = { PST__ALLOC_GROUP__INIT, PST__ALLOC_GROUP__INIT },
                       .usage = PST__STEP_USAGE__INIT,
                       .nodes = { 0, 1 } };
    for (int i = 0; i < 2; i++) {
        r->groups[i].nodes = r->step_groups[i].nodes = 1;
        r->groups[i].mem_mib = i ? 2048 : 4096;
        r->step_groups[i].tasks = i ? 4 : 2;
        r->group_list[i] = &r->groups[i];
        r->step_group_list[i] = &r->step_groups[i];
    }
    r->alloc.n_node_ids = r->alloc.n_groups = 2;
    r->alloc.node_ids = r->nodes;
    r->alloc.groups = r->group_list;
    r->alloc.total_cpus = 8;
    r->step_alloc.n_groups = 2;
    r->step_alloc.groups = r->step_group_list;
    r->step.alloc = &r->step_alloc;
    r->step.usage = &r->usage;
    r->usage.user_us = 7000 * USEC_PER_SEC;
    r->usage.sys_us = 1000 * USEC_PER_SEC;
    r->usage.max_rss_kib = 512 * 1024;
    r->steps[0] = &r->step;
    r->job.job_id = 17;
    r->job.name = (char *)"solve";
    r->job.state = PST__JOB_STATE__JOB_COMPLETED;
    r->job.submit_us = SUBMIT;
    r->job.start_us = AFTER(100);
    r->job.end_us = AFTER(2100);
    r->job.time_limit_min = 120;
    r->job.alloc = &r->alloc;
    r->a.job = &r->job;
    r->a.steps = r->steps;
    r->a.n_steps = 1;
}

static void test_figures(void **state)
{
    struct efficiency e;
    struct run r;

    (void)state;
    make_run(&r);
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_true(e.ended && e.ran && e.measured);
    assert_int_equal(e.wait_s, 100);
    assert_int_equal(e.elapsed_s, 2000);
    assert_int_equal(e.limit_s, 7200);
    assert_int_equal(e.cpus, 8);
    assert_int_equal(e.nodes, 2);
    assert_int_equal(e.cpu_held_us, 8 * 2000 * USEC_PER_SEC);
    assert_int_equal(e.mem_held_mib, 4096);
    assert_int_equal(e.mem_used_mib, 4 * 512); /* the node with most tasks */
    assert_true(efficiency_cpu(&e) == 50.0 && efficiency_mem(&e) == 50.0);
    r.job.suspended_us = 1000 * USEC_PER_SEC; /* it held nothing meanwhile */
    r.job.eligible_us = AFTER(60);
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_int_equal(e.elapsed_s, 1000);
    assert_int_equal(e.wait_s, 40);
    assert_true(efficiency_cpu(&e) == 100.0);
    r.usage.user_us *= 2; /* clocks of nodes differ: never above all */
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_true(efficiency_cpu(&e) == 100.0);
    r.job.state = PST__JOB_STATE__JOB_RUNNING;
    efficiency_of(&r.a, AFTER(3100), &e);
    assert_false(e.ended);
    assert_int_equal(e.elapsed_s, 2000);
    efficiency_of(&r.a, AFTER(1), &e); /* a clock that was set back */
    assert_int_equal(e.elapsed_s, 0);
    assert_int_equal(e.cpu_held_us, 0);
    assert_true(efficiency_cpu(&e) < 0);
}

static void test_without_figures(void **state)
{
    struct efficiency e;
    struct run r;

    (void)state;
    make_run(&r);
    r.step.usage = NULL;
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_false(e.measured);
    assert_true(efficiency_cpu(&e) < 0 && efficiency_mem(&e) < 0);
    r.job.alloc = NULL; /* what it asked for counts */
    r.job.num_tasks = 6;
    r.job.cpus_per_task = 3;
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_int_equal(e.cpus, 18);
    assert_int_equal(e.nodes, 1);
    r.job.num_tasks = 0;
    r.job.min_nodes = 4;
    r.job.ntasks_per_node = 2;
    r.job.cpus_per_task = 0;
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_int_equal(e.cpus, 8);
    r.job.min_cpus = 30;
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_int_equal(e.cpus, 30);
    r.step.usage = &r.usage; /* a step without a layout: its tasks over its nodes */
    r.step.alloc = NULL;
    r.step.num_tasks = 3;
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_int_equal(e.mem_used_mib, 3 * 512);
    r.step_alloc.n_groups = 0;
    r.step_alloc.n_node_ids = 2;
    r.step.alloc = &r.step_alloc;
    efficiency_of(&r.a, AFTER(9999), &e);
    assert_int_equal(e.mem_used_mib, 2 * 512);
}

static void expect_advice(const struct run *r, bool could_be_better, const char *want)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct efficiency e;

    efficiency_of(&r->a, AFTER(9999), &e);
    assert_int_equal(efficiency_advice(&r->a, &e, &out), could_be_better);
    if (!strstr(strbuf_str(&out), want))
        print_message("%s, not %s\n", strbuf_str(&out), want);
    assert_non_null(strstr(strbuf_str(&out), want));
}

static void test_advice(void **state)
{
    struct run r;

    (void)state;
    make_run(&r);
    expect_advice(&r, false, "fits what it used");
    r.usage.user_us = 6000 * USEC_PER_SEC;
    expect_advice(&r, true, "kept 3.5 of its 8 CPUs busy");
    r.alloc.total_cpus = 1; /* one CPU cannot be fewer */
    expect_advice(&r, false, "fits");
    make_run(&r);
    r.usage.max_rss_kib = 250 * 1024;
    expect_advice(&r, true, "used 1000M of 4G of memory on a node: --mem=1280M would do");
    r.usage.max_rss_kib = 1;
    expect_advice(&r, true, "--mem=16M would do");
    r.groups[0].mem_mib = r.groups[1].mem_mib = 1000; /* too little to speak of */
    expect_advice(&r, false, "fits");
    make_run(&r);
    r.job.time_limit_min = 334; /* 20,040 seconds: 2,000 are less than a tenth */
    expect_advice(&r, true, "took 00:33:20 of a limit of 05:34:00");
    r.job.time_unlimited = true;
    expect_advice(&r, false, "fits");
    r.job.end_us = AFTER(109);
    r.usage.user_us = 0;
    expect_advice(&r, false, "too short");
    r.step.usage = NULL;
    expect_advice(&r, false, "Nothing was measured");
    make_run(&r);
    r.job.state = PST__JOB_STATE__JOB_OUT_OF_MEMORY;
    expect_advice(&r, true, "more than the 4G it had");
    r.job.state = PST__JOB_STATE__JOB_TIMEOUT;
    expect_advice(&r, true, "time limit of 02:00:00");
    r.job.state = PST__JOB_STATE__JOB_RUNNING;
    expect_advice(&r, false, "not ended yet");
    r.job.start_us = 0;
    expect_advice(&r, false, "not started yet");
    r.job.state = PST__JOB_STATE__JOB_CANCELLED;
    expect_advice(&r, false, "never started");
}

static void test_output(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct run r;

    (void)state;
    make_run(&r);
    efficiency_header(&out, true);
    efficiency_row(&r.a, AFTER(9999), true, &out);
    assert_string_equal(strbuf_str(&out),
                        "JobID|State|Planned|Elapsed|TimeEff|AllocCPUS|CPUEff|MaxMem|MemEff\n"
                        "17|COMPLETED|00:01:40|00:33:20|27.8%|8|50.0%|2G|50.0%\n");
    strbuf_reset(&out);
    r.job.has_array_task_id = true;
    r.job.array_job_id = 15;
    r.job.array_task_id = 2;
    r.job.start_us = 0; /* cancelled while it waited */
    r.step.usage = NULL;
    efficiency_header(&out, false);
    efficiency_row(&r.a, AFTER(9999), false, &out);
    assert_string_equal(
        strbuf_str(&out),
        "JobID        State          Planned     Elapsed  TimeEff AllocCPUS   CPUEff     "
        "MaxMem   MemEff\n"
        "------------ ---------- ----------- ----------- -------- --------- -------- "
        "---------- --------\n"
        "15_2         COMPLETED     00:35:00    00:00:00                  0          "
        "                   \n");
}

static void test_report(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    Pst__GresAlloc gpu = PST__GRES_ALLOC__INIT, tmp = PST__GRES_ALLOC__INIT;
    Pst__GresAlloc *list[] = { &tmp, &gpu };
    struct run r;

    (void)state;
    make_run(&r);
    gpu.name = (char *)"gpu";
    gpu.count = 3;
    tmp.name = (char *)"tmpfs";
    tmp.count = 9;
    r.groups[0].gres = list;
    r.groups[0].n_gres = 2;
    r.groups[0].nodes = 2;
    r.job.has_het_job_id = true;
    r.job.het_job_id = 12;
    r.job.het_offset = 1;
    efficiency_report(&r.a, AFTER(9999), &out);
    assert_string_equal(strbuf_str(&out), "Job         12+1  solve  COMPLETED\n"
                                          "Waited      00:01:40\n"
                                          "Ran         00:33:20 of 02:00:00, on 2 nodes\n"
                                          "CPU         50.0% of 8: 4.0 busy on average\n"
                                          "Memory      2G of 4G on a node (50.0%)\n"
                                          "GPUs        6 held; their use is not measured\n"
                                          "Advice      What it asked for fits what it used.\n");
    strbuf_reset(&out);
    make_run(&r);
    r.job.start_us = 0;
    r.job.state = PST__JOB_STATE__JOB_PENDING;
    r.job.name = NULL;
    efficiency_report(&r.a, AFTER(60), &out);
    assert_string_equal(strbuf_str(&out), "Job         17    PENDING\n"
                                          "Waited      00:01:00\n"
                                          "Advice      It has not started yet.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures), cmocka_unit_test(test_without_figures),
        cmocka_unit_test(test_advice),  cmocka_unit_test(test_output),
        cmocka_unit_test(test_report),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
