/* test_libpenstock.c - what libpenstock says without a cluster: options, fields, filters, errors */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/libhandle.h"
#include "lib/libfilter.h"
#include "lib/libpenstock.h"
#include "lib/librow.h"

static penstock *p;

static int setup(void **state)
{
    (void)state;
    p = penstock_new();
    return p ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    penstock_free(p);
    return 0;
}

static void test_settings(void **state)
{
    (void)state;
    assert_int_equal(penstock_set(p, "conf", "/nowhere/slurm.conf"), 0);
    assert_int_equal(penstock_set(p, "timeout", "0"), -EINVAL);
    assert_int_equal(penstock_set(p, "timeout", "1"), 0);
    assert_int_equal(penstock_set(p, "colour", "red"), -ENOENT);
    assert_non_null(strstr(penstock_error(p), "colour"));
    assert_true(penstock_connect(p) < 0);
    assert_non_null(strstr(penstock_error(p), "/nowhere/slurm.conf"));
    assert_int_equal(penstock_code(p), 0);
    penstock_free(NULL);
}

static void test_job(void **state)
{
    penstock_job *job = penstock_job_new(p);
    char key[300];

    (void)state;
    assert_int_equal(penstock_job_set(job, "time", "10"), 0);
    assert_int_equal(penstock_job_set(job, "hold", NULL), 0);
    assert_int_equal(penstock_job_set(job, "time", "soon"), -EINVAL);
    assert_non_null(strstr(penstock_error(p), "--time"));
    assert_int_equal(penstock_job_set(job, "time", NULL), -EINVAL);
    assert_int_equal(penstock_job_set(job, "hold", "x"), -EINVAL);
    assert_int_equal(penstock_job_set(job, "wait", NULL), -ENOENT); /* of the command */
    assert_int_equal(penstock_job_set(job, "uid", "0"), -ENOENT);
    assert_int_equal(penstock_job_set(job, "colour", "red"), -ENOENT);
    assert_int_equal(penstock_job_set(job, "hint", "help"),
                     -EINVAL); /* prints nothing, ends nothing */
    assert_int_equal(penstock_job_set(job, "mem-bind", "help"), -EINVAL);
    assert_int_equal(penstock_job_set(job, "comment", "help"), 0);
    assert_int_equal(penstock_job_script(job, "hostname\n", 9), -EINVAL);
    assert_null(strchr(penstock_error(p), '\n'));
    assert_int_equal(penstock_job_script(job, "#!/bin/sh\r\n", 11), -EINVAL);
    assert_int_equal(penstock_job_script(job, "", 0), -EINVAL);
    assert_int_equal(penstock_job_script(job, "#!/bin/sh\n", SIZE_MAX), -EINVAL);
    assert_int_equal(penstock_job_script(job, "#!/bin/sh\nhostname\n", 19), 0);
    assert_int_equal(penstock_job_environment(job, "A B", "x"), -EINVAL);
    assert_int_equal(penstock_job_environment(job, "A", "x=y z"), 0);
    assert_int_equal(penstock_job_key(job, ""), -EINVAL);
    assert_int_equal(penstock_job_key(job, "a b"), -EINVAL);
    memset(key, 'k', sizeof(key));
    key[256] = '\0';
    assert_int_equal(penstock_job_key(job, key), -EINVAL);
    key[255] = '\0';
    assert_int_equal(penstock_job_key(job, key), 0);
    penstock_job_free(job);
    penstock_job_free(NULL);
}

static void test_queries(void **state)
{
    penstock_query *q = NULL;

    (void)state;
    assert_int_equal(penstock_query_new(p, "horses", &q), -ENOENT);
    assert_null(q);
    assert_int_equal(penstock_query_new(p, "jobs", &q), 0);
    assert_int_equal(penstock_query_fields(q, "id, job_id name"), 0);
    assert_int_equal(penstock_query_fields(q, "colour"), -ENOENT);
    assert_int_equal(penstock_query_fields(q, "alloc"), -ENOENT); /* no value, but a message */
    assert_int_equal(penstock_query_filter(q, "job", "12,13_4"), 0);
    assert_int_equal(penstock_query_filter(q, "job", "horse"), -EINVAL);
    assert_int_equal(penstock_query_filter(q, "state", "PENDING,cg"), 0);
    assert_int_equal(penstock_query_filter(q, "state", "asleep"), -EINVAL);
    assert_int_equal(penstock_query_filter(q, "user", "no such user"), -EINVAL);
    assert_int_equal(penstock_query_filter(q, "colour", "red"), -ENOENT);
    penstock_query_free(q);
    assert_int_equal(penstock_query_new(p, "nodes", &q), 0);
    assert_int_equal(penstock_query_filter(q, "user", "root"), -ENOENT);
    penstock_query_free(q);
}

static void test_filters(void **state)
{
    struct libfilter f;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;

    (void)state;
    libfilter_init(&f);
    job.has_job_id = job.has_state = job.has_state_flags = true;
    job.job_id = 12;
    job.state = PST__JOB_STATE__JOB_RUNNING;
    assert_true(libfilter_match(&f, &job));
    assert_int_equal(libfilter_set(&f, p, "state", "PENDING"), 0);
    assert_int_equal(f.jobs.n_states, 1);
    assert_false(libfilter_match(&f, &job));
    assert_int_equal(libfilter_set(&f, p, "state", "RUNNING"), 0);
    assert_int_equal(f.jobs.n_states, 2);
    assert_true(libfilter_match(&f, &job));
    assert_int_equal(libfilter_set(&f, p, "state", "COMPLETING"), 0);
    assert_int_equal(f.jobs.n_states, 0); /* a flag: every state is asked for */
    assert_int_equal(libfilter_set(&f, p, "job", "11,10_12"), 0);
    assert_false(libfilter_match(&f, &job));
    job.has_array_job_id = job.has_array_task_id = true;
    job.array_job_id = 10;
    job.array_task_id = 12;
    assert_true(libfilter_match(&f, &job));
    assert_true(libfilter_match_task(&f, 12, 10, true, 12));
    assert_false(libfilter_match_task(&f, 12, 10, true, 13));
    libfilter_done(&f);
}

static void test_rows(void **state)
{
    char *words[] = { (char *)"a", (char *)"b\"c" };
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__Alloc alloc = PST__ALLOC__INIT;
    struct pb_fieldset wanted = { 0 }, needed = { 0 };
    struct penstock_row row = { .kind = librow_kind("jobs"),
                                .record = &job.base,
                                .wanted = &wanted };
    int64_t number = 0, when = INT64_C(1700000000) * 1000000;

    (void)state;
    assert_string_equal(penstock_row_json(&row), "{}");
    job.has_job_id = job.has_state = job.has_exit_status = job.has_requeue = job.has_start_us =
        true;
    job.job_id = 7;
    job.state = PST__JOB_STATE__JOB_FAILED;
    job.exit_status = 3 << 8;
    job.start_us = when;
    job.name = (char *)"x\ny";
    job.argv = words;
    job.n_argv = 2;
    alloc.nodes = (char *)"n[1-2]";
    job.alloc = &alloc;
    assert_string_equal(penstock_row_text(&row, "state"), "FAILED");
    assert_string_equal(penstock_row_text(&row, "id"), "7");
    assert_string_equal(penstock_row_text(&row, "nodelist"), "n[1-2]");
    assert_string_equal(penstock_row_text(&row, "argv"), "a,b\"c");
    assert_null(penstock_row_text(&row, "account"));
    assert_null(penstock_row_text(&row, "colour"));
    assert_int_equal(penstock_row_number(&row, "exit_code", &number), 1);
    assert_int_equal(number, 3);
    assert_int_equal(penstock_row_number(&row, "start_us", &number), 1);
    assert_true(number == when);
    assert_int_equal(penstock_row_number(&row, "end_us", &number), 0);
    assert_int_equal(penstock_row_number(&row, "name", &number), -EINVAL);
    row.chosen = true;
    assert_int_equal(librow_want(row.kind, "argv", &wanted, &needed, &row.made), 0);
    assert_int_equal(librow_want(row.kind, "shown_state", &wanted, &needed, &row.made), 0);
    assert_int_equal(librow_want(row.kind, "requeue", &wanted, &needed, &row.made), 0);
    assert_int_equal(librow_want(row.kind, "name", &wanted, &needed, &row.made), 0);
    assert_string_equal(penstock_row_json(&row), "{\"shown_state\":\"FAILED\",\"name\":\"x\\ny\","
                                                 "\"requeue\":false,\"argv\":[\"a\",\"b\\\"c\"]}");
    assert_null(penstock_row_text(&row, "state")); /* not asked for */
    strbuf_done(&row.texts);
}

static void test_fields(void **state)
{
    const char *name, *type;
    size_t n = 0;

    (void)state;
    while ((name = penstock_field("jobs", n, &type))) {
        assert_non_null(type);
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(name, penstock_field("jobs", i, NULL));
        n++;
    }
    assert_true(n > 80);
    assert_null(penstock_field("horses", 0, &type));
}

static void test_watch(void **state)
{
    penstock_watch *w = NULL;
    penstock_change *c;

    (void)state;
    assert_int_equal(penstock_watch_new(p, &w), 0);
    assert_true(penstock_watch_fd(w) >= 0);
    assert_int_equal(penstock_watch_set(w, "type", "job,horse"), -EINVAL);
    assert_int_equal(penstock_watch_set(w, "type", "job,node"), 0);
    assert_int_equal(penstock_watch_set(w, "cursor", "x"), -EINVAL);
    assert_int_equal(penstock_watch_set(w, "cursor", "57.3"), 0);
    assert_string_equal(penstock_watch_cursor(w), "57.3");
    assert_int_equal(penstock_set(p, "conf", "/nowhere/slurm.conf"), 0);
    assert_true(penstock_watch_next(w, 1000, &c) < 0); /* nothing to wait for */
    penstock_watch_free(w);
}

/* Handles of several threads at the same time. */
static void *use_handle(void *arg)
{
    penstock *own = penstock_new();
    penstock_job *job = penstock_job_new(own);
    penstock_query *q = NULL;
    bool ok = true;

    (void)arg;
    for (int i = 0; i < 200; i++) {
        ok = ok && penstock_job_set(job, "cpus-per-task", "2") == 0 &&
             penstock_job_set(job, "time", "bad") == -EINVAL &&
             penstock_query_new(own, "jobs", &q) == 0 &&
             penstock_query_filter(q, "user", "root") == 0;
        penstock_query_free(q);
    }
    penstock_job_free(job);
    penstock_free(own);
    return ok ? use_handle : NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    void *ok;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_handle, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        assert_int_equal(pthread_join(threads[i], &ok), 0);
        assert_non_null(ok);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_settings), TEST(test_job),    TEST(test_queries), TEST(test_filters),
        TEST(test_rows),     TEST(test_fields), TEST(test_watch),   TEST(test_threads),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
