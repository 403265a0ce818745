/* test_squeue_fields.c - golden lines of squeue from hand-made records */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/format/fmt_squeue.h"
#include "cli/query/out_query.h"
#include "model/words/names.h"

#define T0 (INT64_C(1795167502) * USEC_PER_SEC) /* 2026-11-20T09:38:22 UTC */

static void on_bad(void *ctx, const char *spec)
{
    (void)ctx;
    fail_msg("format not understood: %s", spec);
}

static void expect(const struct fmt_table *table, const char *spec, const void *row,
                   const char *line)
{
    struct fmt f = FMT_INIT;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    if (strchr(spec, '%'))
        assert_int_equal(fmt_parse_short(&f, table, spec, on_bad, NULL), 0);
    else
        assert_int_equal(fmt_parse_long(&f, table, spec, on_bad, NULL), 0);
    fmt_row(&f, row, &sb);
    assert_string_equal(strbuf_str(&sb), line);
    fmt_done(&f);
}

static void make_pending(Pst__JobRecord *j)
{
    pst__job_record__init(j);
    j->job_id = 65;
    j->array_job_id = 65;
    j->array_tasks = (char *)"2-4%1";
    j->name = (char *)"ar";
    j->user_name = (char *)"carol";
    j->group_name = (char *)"research";
    j->uid = 2003;
    j->gid = 2001;
    j->partition = (char *)"debug";
    j->account = (char *)"chem";
    j->qos = (char *)"normal";
    j->state = PST__JOB_STATE__JOB_PENDING;
    j->has_pend_reason = true;
    j->pend_reason = PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT;
    j->has_cur_priority = true;
    j->cur_priority = 8599;
    j->has_time_limit_min = true;
    j->time_limit_min = 5;
    j->has_mem_per_cpu_mib = true;
    j->mem_per_cpu_mib = 100;
    j->submit_us = T0;
    j->batch = true;
    j->requeue = true;
    j->work_dir = (char *)"/home/carol";
}

static void test_pending(void **state)
{
    Pst__JobRecord j;
    struct job_row r = { .job = &j, .now_us = T0 + 5 * USEC_PER_SEC, .bitstr_len = 64 };

    (void)state;
    make_pending(&j);
    expect(&squeue_job_fields, SQUEUE_JOBS, &r,
           "        65_[2-4%1]     debug       ar    carol PD       0:00      1 "
           "(JobArrayTaskLimit)\n");
    expect(&squeue_job_fields, SQUEUE_JOBS_LONG, &r,
           "        65_[2-4%1]     debug       ar    carol  PENDING       0:00      5:00      1 "
           "(JobArrayTaskLimit)\n");
    expect(&squeue_job_fields, "%i %A %F %K %T %R", &r,
           "65_[2-4%1] 65 65 2-4%1 PENDING (JobArrayTaskLimit)\n");
    expect(&squeue_job_fields, "%Q %p %m %C %D %l %L %M %B %N|", &r,
           "8599 0.00000200211071 100M 1 1 5:00 5:00 0:00 n/a |\n");
    expect(&squeue_job_fields, "%S %e %V", &r, "N/A N/A 2026-11-20T09:38:22\n");
    expect(&squeue_job_fields, "%k %E %f %n%x %v %w %W %X %Y %b %o %h %H %I %J %z %O", &r,
           "(null) (null) (null)  (null) (null) (null) N/A (null) N/A (null) NO * * * *:*:* 0\n");
    expect(&squeue_job_fields, "jobid:8,name:.6,username:5:,state", &r,
           "65          arcarol:PENDING             \n");
    expect(&squeue_job_fields,
           "stdout:18,stderr:8,requeue:2,restartcnt:2,exclusive:4,tres-alloc:60", &r,
           "slurm-%A_%a.out   (null)  1 0 NO  cpu=1,mem=100M,node=1,billing=1                      "
           "       \n");
}

static void test_one_task(void **state)
{
    Pst__JobRecord j;
    struct job_row r = {
        .job = &j, .now_us = T0, .has_task = true, .task = 3, .bitstr_len = 64, .expand = true
    };

    (void)state;
    make_pending(&j);
    expect(&squeue_job_fields, "%i %K", &r, "65_3 3\n");
    expect(&squeue_job_fields, "stdout:40", &r, "/home/carol/slurm-65_3.out              \n");
}

static void test_cut_tasks(void **state)
{
    Pst__JobRecord j;
    struct job_row r = { .job = &j, .now_us = T0, .bitstr_len = 8 };

    (void)state;
    make_pending(&j);
    j.array_tasks = (char *)"1,3,5,7,9,20";
    expect(&squeue_job_fields, "%i", &r, "65_[1,3,...]\n");
    r.bitstr_len = 0;
    expect(&squeue_job_fields, "%i", &r, "65_[1,3,5,7,9,20]\n");
    j.array_tasks = (char *)"1,3,5,7,9,20%2"; /* the tasks at a time are not part of the list */
    expect(&squeue_job_fields, "%i", &r, "65_[1,3,5,7,9,20%2]\n");
    r.bitstr_len = 8;
    expect(&squeue_job_fields, "%i %K", &r, "65_[1,3,...%2] 1,3,...%2\n");
    r.bitstr_len = 13;
    expect(&squeue_job_fields, "%K", &r, "1,3,5,7,9,20%2\n");
    r.bitstr_len = 12;
    expect(&squeue_job_fields, "%K", &r, "1,3,5,7,...%2\n");
}

static void test_reasons(void **state)
{
    Pst__JobRecord j;
    struct job_row r = { .job = &j, .now_us = T0 };

    (void)state;
    make_pending(&j);
    j.pend_text = (char *)"ReqNodeNotAvail, May be reserved for other job";
    expect(&squeue_job_fields, "%r", &r, "ReqNodeNotAvail, May be reserved for other job\n");
    j.has_reason = true;
    j.reason = PST__JOB_REASON__REASON_JOB_HELD_USER;
    expect(&squeue_job_fields, "%R", &r, "(JobHeldUser)\n");
    j.reason_text = (char *)"job requeued in held state";
    expect(&squeue_job_fields, "%R", &r, "(job requeued in held state)\n");
    make_pending(&j);
    j.has_pend_reason = false;
    j.pend_reason = 0;
    j.has_priority = true;
    j.priority = 0;
    expect(&squeue_job_fields, "%R", &r, "(JobHeldAdmin)\n");
    make_pending(&j);
    j.begin_us = T0 + 86400 * USEC_PER_SEC;
    expect(&squeue_job_fields, "%S %e", &r, "2026-11-21T09:38:22 2026-11-21T09:43:22\n");
}

static uint32_t two_nodes[] = { 0, 1 };

static void make_running(Pst__JobRecord *j, Pst__Alloc *alloc)
{
    make_pending(j);
    pst__alloc__init(alloc);
    alloc->nodes = (char *)"node[1-2]";
    alloc->node_ids = two_nodes;
    alloc->n_node_ids = 2;
    alloc->total_cpus = 4;
    j->array_tasks = NULL;
    j->array_job_id = 0;
    j->job_id = 63;
    j->name = (char *)"a-rather-long-name";
    j->state = PST__JOB_STATE__JOB_RUNNING;
    j->start_us = T0 + 2 * USEC_PER_SEC;
    j->end_us = T0 + 122 * USEC_PER_SEC;
    j->time_limit_min = 2;
    j->alloc = alloc;
    j->alloc_tres = (char *)"cpu=4,mem=400M,node=2,billing=4";
}

static void test_running(void **state)
{
    Pst__JobRecord j;
    Pst__Alloc alloc;
    struct job_row r = { .job = &j, .now_us = T0 + 6 * USEC_PER_SEC };

    (void)state;
    make_running(&j, &alloc);
    expect(&squeue_job_fields, SQUEUE_JOBS, &r,
           "                63     debug a-rather    carol  R       0:04      2 node[1-2]\n");
    expect(&squeue_job_fields, "%e %L %M %C %D %B %S %r %K", &r,
           "2026-11-20T09:40:24 1:56 0:04 4 2 node1 2026-11-20T09:38:24 None N/A\n");
    j.state = PST__JOB_STATE__JOB_SUSPENDED;
    j.suspend_us = T0 + 4 * USEC_PER_SEC;
    r.now_us = T0 + 1000 * USEC_PER_SEC;
    expect(&squeue_job_fields, "%t %M", &r, "S 0:02\n");
    j.time_unlimited = true;
    j.end_us = 0;
    expect(&squeue_job_fields, "%l %L %e", &r, "UNLIMITED UNLIMITED N/A\n");
}

static void test_ended(void **state)
{
    Pst__JobRecord j;
    Pst__Alloc alloc;
    struct job_row r = { .job = &j, .now_us = T0 + 500 * USEC_PER_SEC };

    (void)state;
    make_running(&j, &alloc);
    j.state = PST__JOB_STATE__JOB_FAILED;
    j.reason = PST__JOB_REASON__REASON_NON_ZERO_EXIT_CODE;
    j.exit_status = 3 << 8;
    expect(&squeue_job_fields, "%t %R %M", &r, "F (NonZeroExitCode) 2:00\n");
    expect(&squeue_job_fields, "exit_code:5", &r, "3:0  \n");
    j.state_flags = 1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING;
    expect(&squeue_job_fields, "%t %R", &r, "CG node[1-2]\n");
    j.state_flags = 0;
    j.state = PST__JOB_STATE__JOB_NODE_FAIL;
    expect(&squeue_job_fields, "%t %R", &r, "NF node[1-2]\n");
}

static void test_steps(void **state)
{
    Pst__StepRecord s = PST__STEP_RECORD__INIT;
    Pst__Alloc alloc;
    Pst__JobRecord j;
    struct step_row r = { .step = &s,
                          .now_us = T0 + 7 * USEC_PER_SEC,
                          .array_job_id = 65,
                          .array_task_id = 1,
                          .user = "carol",
                          .partition = "debug" };

    (void)state;
    make_running(&j, &alloc);
    s.job_id = 67;
    s.step_id = NAMES_STEP_BATCH;
    s.state = PST__STEP_STATE__STEP_RUNNING;
    s.start_us = T0 + 2 * USEC_PER_SEC;
    s.alloc = &alloc;
    expect(&squeue_step_fields, SQUEUE_STEPS, &r,
           "     65_1.batch    batch     debug    carol      0:05 node[1-2]\n");
    r.array_job_id = 0;
    s.step_id = 0;
    s.name = (char *)"sleep";
    s.num_tasks = 2;
    expect(&squeue_step_fields, "%i %j %u %M %N %A", &r, "67.0 sleep carol 0:05 node[1-2] 2\n");
    expect(&squeue_step_fields, "stepstate:10,tres-per-step:10,timelimit:10", &r,
           "RUNNING   (null)    UNLIMITED \n");
}

/* Every field renders an empty record, and what it says it needs exists. */
static void test_every_field(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    Pst__StepRecord s = PST__STEP_RECORD__INIT;
    struct job_row job = { .job = &j, .now_us = T0 };
    struct step_row step = { .step = &s, .now_us = T0 };
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct pb_fieldset set = { 0 };

    (void)state;
    for (size_t i = 0; i < squeue_job_fields.n; i++) {
        const struct fmt_field *f = &squeue_job_fields.rows[i];

        f->get(&sb, &job);
        if (f->num)
            (void)f->num(&job);
        query_need_names(f->needs, &pst__job_record__descriptor, &set);
    }
    for (size_t i = 0; i < squeue_step_fields.n; i++) {
        squeue_step_fields.rows[i].get(&sb, &step);
        query_need_names(squeue_step_fields.rows[i].needs, &pst__step_record__descriptor, &set);
    }
    assert_false(sb.failed);
}

/* Numbers are packed that are said to be there. */
static void say_there(ProtobufCMessage *msg)
{
    for (unsigned i = 0; i < msg->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &msg->descriptor->fields[i];
        const uint32_t *value = (const void *)((const char *)msg + f->offset);

        if (f->label == PROTOBUF_C_LABEL_OPTIONAL && f->quantifier_offset && *value)
            *(protobuf_c_boolean *)((char *)msg + f->quantifier_offset) = true;
    }
}

/* The controller is asked for what a field names: with that alone it shows what it shows of the
 * whole record. */
static void test_fields_suffice(void **state)
{
    static const struct pb_fieldset none;
    Pst__JobRecord cases[4];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        make_pending(&cases[i]);
        cases[i].min_nodes = 2;
        cases[i].max_nodes = 3;
        cases[i].cpus_per_task = 2; /* an update's */
        cases[i].asked_cpus_per_task = 1;
    }
    cases[0].num_tasks = 2;
    cases[1].tres_per_job = (char *)"gres/gpu:4";
    cases[1].tres_per_node = (char *)"gres/gpu:1";
    cases[1].cpus_per_gpu = 3;
    cases[1].mem_per_gpu_mib = 50;
    cases[1].mem_per_cpu_mib = 0;
    cases[2].max_nodes = 0;
    cases[2].tres_per_task = (char *)"gres/gpu:2";
    cases[2].def_cpus_per_gpu = 5;
    cases[2].def_mem_per_gpu_mib = 70;
    cases[2].mem_per_cpu_mib = 0;
    cases[3].ntasks_per_node = 2;
    cases[3].pn_min_cpus = 3;

    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        ProtobufCMessage *all = &cases[c].base;
        _cleanup_free_ uint8_t *whole = NULL, *some = NULL;
        size_t len;

        say_there(all);
        len = protobuf_c_message_get_packed_size(all);
        whole = malloc(len);
        some = malloc(len);
        assert_non_null(whole);
        assert_non_null(some);
        (void)protobuf_c_message_pack(all, whole);
        for (size_t i = 0; i < squeue_job_fields.n; i++) {
            const struct fmt_field *f = &squeue_job_fields.rows[i];
            struct job_row row = { .job = &cases[c], .now_us = T0, .bitstr_len = 64 };
            _cleanup_val_(strbuf_done) struct strbuf shows = STRBUF_INIT, would = STRBUF_INIT;
            struct pb_fieldset set = none;
            long kept;

            f->get(&would, &row);
            query_need_names(f->needs, &pst__job_record__descriptor, &set);
            query_need_names("job_id array_job_id array_task_id array_tasks state state_flags",
                             &pst__job_record__descriptor, &set); /* squeue asks for these anyway */
            kept = pb_project(whole, len, &set, some);
            assert_true(kept > 0);
            row.job = pst__job_record__unpack(NULL, (size_t)kept, some);
            assert_non_null(row.job);
            f->get(&shows, &row);
            if (strcmp(strbuf_str(&shows), strbuf_str(&would)) != 0)
                fail_msg("%s of job %zu: %s, not %s", f->name, c, strbuf_str(&shows),
                         strbuf_str(&would));
            pst__job_record__free_unpacked((Pst__JobRecord *)row.job, NULL);
        }
    }
}

static void test_files(void **state)
{
    static const struct {
        const char *pattern, *path;
    } cases[] = {
        { "/abs/%x-%u", "/abs/run-carol" },
        { "o.%4j", "/w/o.0063" },
        { "%A_%a", "/w/63_4294967294" },
        { "%N.%r.%n", "/w/node1.2.0" },
        { "100%%", "/w/100%" },
        { "%q%", "/w/%q%" },
        { "\\\\%j", "/w/%j" },
        { "%99999999999999j", "/w/0000000063" },
    };
    Pst__JobRecord j;
    Pst__Alloc alloc;
    struct job_row r = { .job = &j, .now_us = T0 };

    (void)state;
    make_running(&j, &alloc);
    j.name = (char *)"run";
    j.work_dir = (char *)"/w";
    j.restart_count = 2;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

        j.std_out = (char *)cases[i].pattern;
        job_put_file(&sb, &r, JOB_STDOUT);
        assert_string_equal(strbuf_str(&sb), cases[i].path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending),   cmocka_unit_test(test_one_task),
        cmocka_unit_test(test_cut_tasks), cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_running),   cmocka_unit_test(test_ended),
        cmocka_unit_test(test_steps),     cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_files),     cmocka_unit_test(test_fields_suffice),
    };

    (void)setenv("TZ", "UTC", 1);
    (void)unsetenv("SLURM_TIME_FORMAT");
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
