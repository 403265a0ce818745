/* test_sacct_fields.c - columns of sacct: formats, golden lines */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/fmt_sacct.h"
#include "model/words/names.h"

#define T0 (INT64_C(1795167440) * USEC_PER_SEC) /* 2026-11-20T09:37:20 UTC */

static Pst__JobRecord job;
static Pst__Alloc alloc;
static Pst__StepRecord batch, step;
static Pst__StepUsage usage;
static Pst__StepRecord *steps[] = { &batch, &step };
static Pst__AcctJob sample;
static uint32_t node_ids[] = { 0 };

static char *text(const char *value)
{
    return (char *)value; /* borrowed */
}

static int make(void **state)
{
    (void)state;
    pst__job_record__init(&job);
    pst__alloc__init(&alloc);
    pst__step_record__init(&batch);
    pst__step_record__init(&step);
    pst__step_usage__init(&usage);
    pst__acct_job__init(&sample);
    alloc.nodes = text("node1");
    alloc.node_ids = node_ids;
    alloc.n_node_ids = 1;
    alloc.total_cpus = 2;
    job.job_id = 6;
    job.name = text("s1");
    job.partition = text("debug");
    job.account = text("physics");
    job.user_name = text("alice");
    job.state = PST__JOB_STATE__JOB_FAILED;
    job.exit_status = 1 << 8;
    job.submit_us = job.eligible_us = T0 - USEC_PER_SEC;
    job.start_us = T0;
    job.end_us = T0 + 7 * USEC_PER_SEC;
    job.has_time_limit_min = true;
    job.time_limit_min = 10;
    job.has_num_tasks = true;
    job.num_tasks = 2;
    job.has_mem_per_cpu_mib = true;
    job.mem_per_cpu_mib = 100;
    job.alloc = &alloc;
    job.alloc_tres = text("cpu=2,mem=200M,node=1,billing=2");
    job.batch = true;
    batch.job_id = step.job_id = 6;
    batch.step_id = NAMES_STEP_BATCH;
    batch.state = PST__STEP_STATE__STEP_FAILED;
    batch.exit_status = 1 << 8;
    batch.alloc = step.alloc = &alloc;
    batch.start_us = step.start_us = T0;
    batch.end_us = step.end_us = T0 + 7 * USEC_PER_SEC;
    batch.usage = &usage;
    usage.has_max_rss_kib = true;
    usage.max_rss_kib = 11852;
    usage.max_rss_node = text("node1");
    usage.user_us = 17000;
    usage.sys_us = 6000;
    step.name = text("bash");
    step.state = PST__STEP_STATE__STEP_COMPLETED;
    sample.job = &job;
    sample.steps = steps;
    sample.n_steps = 2;
    return 0;
}

static void expect(const char *spec, enum sacct_style style, const Pst__StepRecord *of,
                   const char *want)
{
    struct sacct_fmt f = { .style = style, .delimiter = "|" };
    struct sacct_row r = {
        .acct = &sample, .step = of, .now_us = T0 + 100 * USEC_PER_SEC, .cluster = "demo"
    };
    struct err err = { .text = "" };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    assert_int_equal(sacct_fmt_parse(&f, spec, &err), 0);
    sacct_fmt_row(&f, &r, &sb);
    assert_string_equal(strbuf_str(&sb), want);
    sacct_fmt_done(&f);
}

static void test_default(void **state)
{
    (void)state;
    expect(SACCT_DEFAULT, SACCT_FIXED, NULL,
           "6                    s1      debug    physics          2     FAILED      1:0 \n");
    expect(SACCT_DEFAULT, SACCT_FIXED, &batch,
           "6.batch           batch               physics          2     FAILED      1:0 \n");
    expect(SACCT_DEFAULT, SACCT_FIXED, &step,
           "6.0                bash               physics          2  COMPLETED      0:0 \n");
    expect(SACCT_DEFAULT, SACCT_PARSABLE, &batch, "6.batch|batch||physics|2|FAILED|1:0|\n");
    expect(SACCT_DEFAULT, SACCT_PARSABLE2, NULL, "6|s1|debug|physics|2|FAILED|1:0\n");
}

static void test_header(void **state)
{
    struct sacct_fmt f = { .style = SACCT_FIXED, .delimiter = "|" };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    assert_int_equal(sacct_fmt_parse(&f, "jobid,jobname%5,state%-20,exitcode,timelimitraw", NULL),
                     0);
    sacct_fmt_header(&f, &sb);
    assert_string_equal(strbuf_str(&sb),
                        "JobID        JobNa State                ExitCode TimelimitR \n"
                        "------------ ----- -------------------- -------- ---------- \n");
    sacct_fmt_done(&f);
    strbuf_reset(&sb);
    assert_int_equal(sacct_fmt_parse(&f, "uid%0,elapsed%3,start%4", NULL), 0);
    sacct_fmt_header(&f, &sb);
    assert_string_equal(strbuf_str(&sb), " Ela Star \n --- ---- \n");
    sacct_fmt_done(&f);
}

/* A step is charged for the time in which its job ran; one that came later for all of its own. */
static void test_suspended(void **state)
{
    int64_t periods[] = { T0 + USEC_PER_SEC, T0 + 3 * USEC_PER_SEC, T0 + 6 * USEC_PER_SEC,
                          INT64_MAX };

    (void)state;
    expect("elapsedraw,cputimeraw,suspended", SACCT_PARSABLE2, &step, "7|14|00:00:00\n");
    sample.suspensions = periods;
    sample.n_suspensions = ARRAY_SIZE(periods);
    job.suspended_us = 3 * USEC_PER_SEC;
    expect("elapsedraw,cputimeraw,suspended", SACCT_PARSABLE2, &step, "4|8|00:00:03\n");
    expect("elapsedraw,cputimeraw,suspended", SACCT_PARSABLE2, NULL, "4|8|00:00:03\n");
    step.start_us = T0 + 2 * USEC_PER_SEC;
    expect("elapsedraw,cputimeraw,suspended", SACCT_PARSABLE2, &step, "3|6|00:00:02\n");
    step.end_us = T0 + 5 * USEC_PER_SEC;
    step.start_us = T0 + 4 * USEC_PER_SEC;
    expect("elapsedraw,cputimeraw,suspended", SACCT_PARSABLE2, &step, "1|2|00:00:00\n");
}

static void test_values(void **state)
{
    (void)state;
    expect("elapsed,elapsedraw,cputime,planned,timelimit,nodelist,nnodes", SACCT_PARSABLE2, NULL,
           "00:00:07|7|00:00:14|00:00:01|00:10:00|node1|1\n");
    expect("alloctres,reqtres,reqmem,reqcpus", SACCT_PARSABLE2, NULL,
           "billing=2,cpu=2,mem=200M,node=1|billing=2,cpu=2,mem=200M,node=1|200M|2\n");
    expect("submit,eligible,start,end", SACCT_PARSABLE2, NULL,
           "2026-11-20T09:37:19|2026-11-20T09:37:19|2026-11-20T09:37:20|2026-11-20T09:37:27\n");
    expect("maxrss,maxrssnode,averss,avecpu,totalcpu,usercpu,systemcpu,ntasks", SACCT_PARSABLE2,
           &batch, "11852K|node1|11852K|00:00:00|00:00.023|00:00.017|00:00.006|1\n");
    expect("maxrss,totalcpu,user,timelimit", SACCT_PARSABLE2, &step, "|00:00:00||\n");
    expect("maxrss,totalcpu", SACCT_PARSABLE2, NULL, "|00:00.023\n");
    expect("alloctres%6", SACCT_FIXED, NULL, "billi+ \n");
    expect("alloctres%-6,user", SACCT_FIXED, NULL, "billi+     alice \n");
    /* seconds and numbers stay whole, dates are cut without a plus, a width ends with its digits */
    expect("elapsed%3,start%10,end%-4,jobid%5x", SACCT_FIXED, NULL,
           "00:00:07 2026-11-20 2026     6 \n");
}

/* A width of 0, or none that can be read, leaves nothing but the blank behind the column. */
static void test_widths_of_nothing(void **state)
{
    static const char *const specs[] = { "jobid%", "jobid%0", "jobid%x", "jobid%99999999999" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        expect(specs[i], SACCT_FIXED, NULL, " \n");
        expect(specs[i], SACCT_PARSABLE2, NULL, "6\n");
    }
}

static void test_states(void **state)
{
    (void)state;
    job.state = PST__JOB_STATE__JOB_CANCELLED;
    job.has_cancel_uid = true;
    job.cancel_uid = 2001;
    job.exit_status = 15;
    expect("state%20,exitcode", SACCT_PARSABLE2, NULL, "CANCELLED by 2001|0:0\n");
    expect("state", SACCT_FIXED, NULL, "CANCELLED+ \n");
    step.state = PST__STEP_STATE__STEP_CANCELLED;
    step.exit_status = 9;
    expect("state,exitcode", SACCT_PARSABLE2, &step, "CANCELLED|0:9\n");
    job.state = PST__JOB_STATE__JOB_PENDING;
    job.state_flags = 1u << PST__JOB_FLAG__JOB_FLAG_REQUEUED;
    expect("state", SACCT_PARSABLE2, NULL, "REQUEUED\n");
    job.state_flags = 0;
    job.alloc = NULL;
    job.start_us = job.end_us = 0;
    expect("state,start,end,elapsed,nodelist,alloccpus", SACCT_PARSABLE2, NULL,
           "PENDING|Unknown|Unknown|00:00:00|None assigned|0\n");
    job.array_tasks = text("1,3,5,7,9,20");
    expect("jobid", SACCT_FIXED, NULL, "6_[1,3,5,7,+ \n");
    job.array_tasks = NULL;
    job.array_job_id = 1;
    job.has_array_task_id = true;
    job.array_task_id = 3;
    expect("jobid,jobidraw", SACCT_PARSABLE2, NULL, "1_3|6\n");
    expect("jobid,jobidraw", SACCT_PARSABLE2, &batch, "1_3.batch|6.batch\n");
}

static void test_units(void **state)
{
    struct sacct_fmt f = { .style = SACCT_PARSABLE2, .delimiter = "|" };
    struct sacct_row r = { .acct = &sample, .step = &batch, .unit = 'M' };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    assert_int_equal(sacct_fmt_parse(&f, "maxrss", NULL), 0);
    sacct_fmt_row(&f, &r, &sb);
    assert_string_equal(strbuf_str(&sb), "11.57M\n");
    strbuf_reset(&sb);
    r.unit = 0;
    r.noconvert = true;
    sacct_fmt_row(&f, &r, &sb);
    assert_string_equal(strbuf_str(&sb), "12136448\n");
    sacct_fmt_done(&f);
}

static void test_bad_formats(void **state)
{
    static const char *const bad[] = { "nosuch", "jobid,nosuch", "nosuch%5", "%5" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct sacct_fmt f = { .style = SACCT_FIXED };
        struct err err = { .text = "" };

        assert_int_equal(sacct_fmt_parse(&f, bad[i], &err), -EINVAL);
        assert_true(err.text[0]);
        sacct_fmt_done(&f);
    }
}

static void test_every_field(void **state)
{
    struct sacct_fmt f = { .style = SACCT_PARSABLE2, .delimiter = "|" };
    Pst__JobRecord empty_job = PST__JOB_RECORD__INIT;
    Pst__StepRecord empty_step = PST__STEP_RECORD__INIT;
    Pst__AcctJob empty = PST__ACCT_JOB__INIT;
    struct sacct_row r = { .acct = &empty, .now_us = T0 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    (void)state;
    empty.job = &empty_job;
    assert_int_equal(sacct_fmt_parse(&f, "ALL", NULL), 0);
    assert_int_equal(f.n, sacct_n_fields);
    assert_int_equal(sacct_fmt_parse(&f, SACCT_LONG, NULL), 0);
    sacct_fmt_row(&f, &r, &sb);
    r.step = &empty_step;
    sacct_fmt_row(&f, &r, &sb);
    sacct_fmt_help(&sacct_table, &sb);
    assert_false(sb.failed);
    assert_non_null(strstr(strbuf_str(&sb),
                           "Account             AdminComment        AllocCPUS           "
                           "AllocNodes         \n"));
    sacct_fmt_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_default, make),
        cmocka_unit_test(test_header),
        cmocka_unit_test_setup(test_values, make),
        cmocka_unit_test_setup(test_suspended, make),
        cmocka_unit_test_setup(test_states, make),
        cmocka_unit_test_setup(test_widths_of_nothing, make),
        cmocka_unit_test_setup(test_units, make),
        cmocka_unit_test(test_bad_formats),
        cmocka_unit_test_setup(test_every_field, make),
    };

    (void)setenv("TZ", "UTC", 1);
    (void)unsetenv("SLURM_TIME_FORMAT");
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
