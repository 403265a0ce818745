/* test_webmetrics.c - what jobs and nodes count for, and the text of metrics */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "ctld/web/exposition.h"
#include "ctld/web/startwaits.h"
#include "ctld/web/tallies.h"
#include "model/job.h"
#include "model/tx.h"

#define MIB (UINT64_C(1) << 20)

/* ---- jobs ------------------------------------------------------------------------------------ */

static void test_pending(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct job_tally t;

    SET(&job, min_nodes, 2);
    SET(&job, max_nodes, 5);
    SET(&job, priority, 0);
    metrictally_job(&job, &t);
    assert_int_equal(t.n[JOB_COUNT_ALL], 1);
    assert_int_equal(t.n[JOB_COUNT_PENDING], 1);
    assert_int_equal(t.n[JOB_COUNT_HOLD], 1);
    assert_int_equal(t.n[JOB_COUNT_MIN_NODES], 2);
    assert_int_equal(t.n[JOB_COUNT_MAX_NODES], 5);
    assert_int_equal(t.n[JOB_COUNT_MAX_NODES_NOHOLD], 0);
    assert_int_equal(t.n[JOB_COUNT_STARTED], 0);
    assert_int_equal(t.n[JOB_COUNT_CPUS_ALLOC], 0);
    SET(&job, priority, 7);
    metrictally_job(&job, &t);
    assert_int_equal(t.n[JOB_COUNT_HOLD], 0);
    assert_int_equal(t.n[JOB_COUNT_MAX_NODES_NOHOLD], 5);
}

static void test_array(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct job_tally t;

    job.array_tasks = (char *)"0-9:3,20"; /* 0 3 6 9 20 */
    metrictally_job(&job, &t);
    assert_int_equal(t.n[JOB_COUNT_ALL], 5);
    assert_int_equal(t.n[JOB_COUNT_PENDING], 5);
}

static void test_running_and_ended(void **state)
{
    Pst__GresAlloc gpus = PST__GRES_ALLOC__INIT, *gres[] = { &gpus };
    Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    struct job_tally t;

    SET(&job, state, JOB_STATE(RUNNING));
    SET(&job, start_us, 5);
    gpus.name = (char *)"gpu";
    SET(&gpus, count, 3);
    SET(&group, nodes, 2);
    group.gres = gres;
    group.n_gres = 1;
    alloc.groups = groups;
    alloc.n_groups = 1;
    job.alloc = &alloc;
    job.alloc_tres = (char *)"cpu=4,mem=400M,node=2,billing=4"; /* GPUs are not tracked */
    metrictally_job(&job, &t);
    assert_int_equal(t.n[JOB_COUNT_RUNNING], 1);
    assert_int_equal(t.n[JOB_COUNT_STARTED], 1);
    assert_int_equal(t.n[JOB_COUNT_CPUS_ALLOC], 4);
    assert_int_equal(t.n[JOB_COUNT_MEMORY], 400 * MIB);
    assert_int_equal(t.n[JOB_COUNT_NODES_ALLOC], 2);
    assert_int_equal(t.n[JOB_COUNT_GPUS_ALLOC], 6);
    SET(&job, state, JOB_STATE(TIMEOUT));
    SET(&job, state_flags, JOB_FLAG(COMPLETING));
    metrictally_job(&job, &t);
    assert_int_equal(t.n[JOB_COUNT_TIMEOUT], 1);
    assert_int_equal(t.n[JOB_COUNT_FINISHED], 1);
    assert_int_equal(t.n[JOB_COUNT_ACTIVE], 0);
    assert_int_equal(t.n[JOB_COUNT_COMPLETING], 1);
    assert_int_equal(t.n[JOB_COUNT_CPUS_ALLOC], 0);
}

/* Counts add up; the largest numbers of nodes are the largest. */
static void test_add(void **state)
{
    struct job_tally sum = { 0 }, one = { 0 };

    one.n[JOB_COUNT_PENDING] = 2;
    one.n[JOB_COUNT_MAX_NODES] = 4;
    metrictally_add(&sum, &one);
    one.n[JOB_COUNT_MAX_NODES] = 3;
    metrictally_add(&sum, &one);
    assert_int_equal(sum.n[JOB_COUNT_PENDING], 4);
    assert_int_equal(sum.n[JOB_COUNT_MAX_NODES], 4);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void test_node(void **state)
{
    Pst__NodeRecord node = PST__NODE_RECORD__INIT;
    struct node_tally t = { 0 };
    struct node_values v;

    SET(&node, state, PST__NODE_STATE__NODE_IDLE);
    SET(&node, state_flags, 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN);
    SET(&node, cpus, 16);
    SET(&node, alloc_cpus, 4);
    SET(&node, real_memory_mib, 1000);
    SET(&node, mem_spec_mib, 100);
    SET(&node, alloc_mem_mib, 50);
    node.gres = (char *)"gpu:a100:2,gpu:h100:1,shard:8";
    node.alloc_gres = (char *)"gpu:a100:1";
    metrictally_values(&node, &v);
    assert_int_equal(v.v[NODE_VALUE_CPUS], 16);
    assert_int_equal(v.v[NODE_VALUE_CPUS_IDLE], 12);
    assert_int_equal(v.v[NODE_VALUE_GPUS], 3);
    assert_int_equal(v.v[NODE_VALUE_GPUS_ALLOC], 1);
    assert_int_equal(v.v[NODE_VALUE_MEM_EFCTV], 900 * MIB);
    assert_int_equal(v.v[NODE_VALUE_MEM_ALLOC], 50 * MIB);
    metrictally_node(&t, &node, &v);
    assert_int_equal(t.n[NODE_COUNT_MIXED], 1);
    assert_int_equal(t.n[NODE_COUNT_DRAIN], 1);
    assert_int_equal(t.n[NODE_COUNT_DRAINING], 1);
    SET(&node, alloc_cpus, 0);
    SET(&node, state, PST__NODE_STATE__NODE_DOWN);
    metrictally_values(&node, &v);
    metrictally_node(&t, &node, &v);
    assert_int_equal(t.nodes, 2);
    assert_int_equal(t.n[NODE_COUNT_DOWN], 1);
    assert_int_equal(t.n[NODE_COUNT_DRAINED], 1);
    assert_int_equal(t.n[NODE_COUNT_IDLE], 0);
    assert_int_equal(t.gpus, 6);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void test_text(void **state)
{
    struct strbuf sb = STRBUF_INIT;

    exposition_family(&sb, "slurm_jobs", "", "gauge", "Jobs");
    exposition_sample(&sb, "slurm_jobs", "", NULL, NULL, 5);
    exposition_family(&sb, "slurm_user_jobs", "hold", "gauge", "Held");
    exposition_sample(&sb, "slurm_user_jobs", "hold", "username", "a\"b\\c\nd", 1);
    assert_string_equal(strbuf_str(&sb), "# HELP slurm_jobs Jobs\n"
                                         "# TYPE slurm_jobs gauge\n"
                                         "slurm_jobs 5\n"
                                         "# HELP slurm_user_jobs_hold Held\n"
                                         "# TYPE slurm_user_jobs_hold gauge\n"
                                         "slurm_user_jobs_hold{username=\"a\\\"b\\\\c\\nd\"} 1\n");
    strbuf_done(&sb);
}

/* Buckets count all below their bound, and the last is all there are. */
static void test_histogram_text(void **state)
{
    struct histogram h = { 0 };
    struct strbuf sb = STRBUF_INIT;

    histogram_add(&h, 10);
    histogram_add(&h, 20);
    histogram_add(&h, 1500000);
    exposition_histogram(&sb, "x_seconds", "partition", "main", &h);
    assert_non_null(strstr(strbuf_str(&sb),
                           "x_seconds_bucket{partition=\"main\",le=\"0.000016\"} 1\n"
                           "x_seconds_bucket{partition=\"main\",le=\"0.000032\"} 2\n"));
    assert_non_null(strstr(strbuf_str(&sb), "x_seconds_bucket{partition=\"main\",le=\"+Inf\"} 3\n"
                                            "x_seconds_sum{partition=\"main\"} 1.500030\n"
                                            "x_seconds_count{partition=\"main\"} 3\n"));
    strbuf_done(&sb);
}

static void count_wait(void *ctx, const char *partition, const struct histogram *h)
{
    struct strbuf *sb = ctx;
    uint64_t n = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        n += atomic_load(&h->counts[i]);
    strbuf_addf(sb, "%s %u;", partition, (unsigned)n);
}

static void test_startwaits(void **state)
{
    struct startwaits *w = NULL;
    struct strbuf sb = STRBUF_INIT;

    assert_int_equal(startwaits_new(&w), 0);
    startwaits_note(w, "main", 10);
    startwaits_note(w, "gpu", 10);
    startwaits_note(w, "main", 1000);
    startwaits_each(w, count_wait, &sb);
    assert_string_equal(strbuf_str(&sb), "main 2;gpu 1;");
    strbuf_done(&sb);
    assert_null(startwaits_free(w));
}

static void test_tallies(void **state)
{
    struct tallies t = { 0 };
    struct strbuf sb = STRBUF_INIT;

    assert_null(tallies_find(&t, "u0"));
    for (unsigned i = 0; i < 100; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "u%u", i);
        assert_non_null(tallies_row(&t, name));
        tallies_row(&t, name)->jobs.n[JOB_COUNT_RUNNING] += i;
    }
    assert_int_equal(t.n, 100);
    assert_int_equal(tallies_find(&t, "u42")->jobs.n[JOB_COUNT_RUNNING], 42);
    tallies_write_jobs(&t, TALLY_TOTAL, "slurm_user_jobs", "username", &sb);
    assert_non_null(strstr(strbuf_str(&sb), "\nslurm_user_jobs_running{username=\"u99\"} 99\n"));
    assert_null(strstr(strbuf_str(&sb), "max_job_nodes")); /* of partitions */
    strbuf_done(&sb);
    tallies_done(&t);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_running_and_ended),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_node),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_histogram_text),
        cmocka_unit_test(test_startwaits),
        cmocka_unit_test(test_tallies),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
