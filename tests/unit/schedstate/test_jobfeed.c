/* test_jobfeed.c - jobs as they are fed: waiting, running, suspended, changed, gone */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/holders.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define CPUS 8u
#include "sched_inner.h"

static struct sched *cluster(uint32_t nodes)
{
    return inner_cluster((struct sched_params){ 0 }, nodes, CPUS);
}

static void test_pending(void **state)
{
    struct sched *s = cluster(1);
    struct sched_job j = inner_job(1, LOW, 1), bad = j;
    struct job *kept;

    (void)state;
    assert_int_equal(sched_pending(s), 0);
    kept = inner_put(s, j);
    assert_int_equal(kept->state, JOB_QUEUED);
    assert_int_equal(sched_pending(s), 1);
    j.time_limit_min = 77;
    kept = inner_put(s, j); /* a put of a known id replaces it */
    assert_int_equal(kept->time_limit_min, 77);
    assert_int_equal(sched_pending(s), 1);
    bad.cpus_per_task = 0;
    assert_int_equal(sched_job_put(s, &bad), -EINVAL);
    assert_int_equal(job_find(s, 1)->time_limit_min, 77); /* and nothing is changed */
    bad = j;
    bad.npartitions = 0;
    assert_int_equal(sched_job_put(s, &bad), -EINVAL);
    j.eligible_us = NOW + 1;
    kept = inner_put(s, j);
    assert_int_equal(kept->state, JOB_WAITING); /* until its time */
    sched_job_remove(s, 1);
    sched_job_remove(s, 1);
    assert_null(job_find(s, 1));
    assert_int_equal(sched_pending(s), 0);
    sched_free(s);
}

static void test_running(void **state)
{
    struct sched *s = cluster(2);
    struct job *j;

    (void)state;
    (void)inner_put(s, inner_job(1, LOW, 3));
    j = inner_run(s, 1, LOW, 1, 0x07, 5, 60);
    assert_int_equal(j->state, JOB_RUNNING);
    assert_int_equal(sched_pending(s), 0); /* it stops being pending */
    assert_int_equal(j->nentries, 0);
    assert_true(j->start_us == NOW - 5000000 && j->end_us == NOW + 60 * MINUTE);
    assert_int_equal(s->free_cpus, 2 * CPUS - 3);
    j = inner_run(s, 1, LOW, 1, 0x07, 5, 90); /* told again: nothing is held twice */
    assert_int_equal(s->free_cpus, 2 * CPUS - 3);
    assert_true(j->end_us == NOW + 90 * MINUTE);
    j = inner_run(s, 1, LOW, 0, 0x01, 5, 90); /* it holds something else from now on */
    assert_int_equal(s->nodes[1].free_cpus, CPUS);
    assert_int_equal(s->nodes[0].free_cpus, CPUS - 1);
    sched_job_end_time(s, 1, NOW + MINUTE);
    assert_true(j->end_us == NOW + MINUTE);
    sched_job_remove(s, 1);
    assert_int_equal(s->free_cpus, 2 * CPUS);
    assert_int_equal(s->nodes[0].njobs, 0);
    sched_free(s);
}

/* A running job that is put as pending again (it was requeued) holds nothing. */
static void test_requeued(void **state)
{
    struct sched *s = cluster(1);

    (void)state;
    (void)inner_run(s, 1, LOW, 0, 0xff, 0, 60);
    (void)inner_put(s, inner_job(1, LOW, 8));
    assert_int_equal(s->free_cpus, CPUS);
    assert_int_equal(sched_pending(s), 1);
    assert_int_equal(job_find(s, 1)->state, JOB_QUEUED);
    sched_free(s);
}

/* A suspended job frees its CPUs and keeps its memory. */
static void test_suspended(void **state)
{
    uint64_t bits = 0x0f;
    struct sched_alloc_node an = { .cpus = 4, .cpu_bits = &bits, .ncpu_words = 1, .mem_mib = 500 };
    const struct sched_alloc a = { .nodes = &an, .nnodes = 1 };
    struct sched *s = cluster(1);

    (void)state;
    assert_int_equal(sched_job_running(s, 1, "low", &a, NOW, INT64_MAX, false), 0);
    for (int twice = 0; twice < 2; twice++) {
        sched_job_suspend(s, 1, true);
        assert_int_equal(s->nodes[0].free_cpus, CPUS);
        assert_int_equal(s->nodes[0].mem_used, 500);
        assert_int_equal(s->nodes[0].nrun, 0);
    }
    sched_job_suspend(s, 1, false);
    assert_int_equal(s->nodes[0].free_cpus, CPUS - 4);
    sched_job_suspend(s, 1, true);
    assert_int_equal(sched_job_running(s, 1, "low", &a, NOW, INT64_MAX, false), 0); /* resumed */
    assert_int_equal(s->nodes[0].free_cpus, CPUS - 4);
    sched_job_suspend(s, 1, true);
    sched_job_remove(s, 1);
    assert_int_equal(s->nodes[0].free_cpus, CPUS);
    assert_int_equal(s->nodes[0].mem_used, 0);
    sched_free(s);
}

/* Nothing that is said of jobs that hold nothing, or of none, changes anything. */
static void test_unknown(void **state)
{
    struct sched *s = cluster(1);
    uint64_t change;

    (void)state;
    (void)inner_put(s, inner_job(1, LOW, 1));
    change = s->change;
    for (uint32_t id = 1; id <= 2; id++) {
        sched_job_end_time(s, id, NOW);
        sched_job_suspend(s, id, true);
        sched_job_channels(s, id, 4);
        sched_job_leaving(s, id);
        sched_job_yield(s, id, true);
        sched_job_refused(s, id);
        assert_int_equal(sched_job_topo(s, id, true), 0);
        assert_int_equal(sched_job_rank(s, id, 7, "none", false), 0);
    }
    assert_int_equal(s->change, change);
    assert_int_equal(s->channels_held, 0);
    assert_int_equal(job_find(s, 1)->state, JOB_QUEUED);
    sched_free(s);
}

static void test_channels(void **state)
{
    struct sched *s = cluster(1);

    (void)state;
    (void)inner_run(s, 1, LOW, 0, 0x01, 0, 60);
    (void)inner_run(s, 2, LOW, 0, 0x02, 0, 60);
    sched_job_channels(s, 1, 4);
    sched_job_channels(s, 2, 3);
    assert_int_equal(s->channels_held, 7);
    sched_job_channels(s, 1, 1);
    assert_int_equal(s->channels_held, 4);
    sched_job_remove(s, 2);
    assert_int_equal(s->channels_held, 1);
    sched_free(s);
}

/* Whose a running job is counts for nodes that are shared by user. */
static void test_owner(void **state)
{
    struct sched *s = cluster(1);
    struct job *j = inner_run(s, 1, LOW, 0, 0x01, 0, 60);

    (void)state;
    assert_false(s->uids);
    assert_int_equal(sched_job_owner(s, 1, 1000, true, "red"), 0);
    assert_int_equal(j->uid, 1000);
    assert_true(s->uids && s->labels);
    assert_int_equal(s->nodes[0].nowned, 1);
    assert_int_equal(s->nodes[0].nlabelled, 1);
    assert_int_equal(s->nodes[0].label, j->label);
    assert_int_equal(sched_job_owner(s, 1, 1001, false, NULL), 0);
    assert_int_equal(s->nodes[0].nowned, 0);
    assert_int_equal(s->nodes[0].nlabelled, 0);
    assert_int_equal(s->nodes[0].uid_sum, 1001);
    sched_job_remove(s, 1);
    assert_int_equal(s->nodes[0].uid_sum, 0);
    sched_free(s);
}

/* A job that is not to be kept is told its priority by the next pass, and is forgotten. */
static void test_price(void **state)
{
    struct sched *s = cluster(1);
    struct sched_job j = inner_job(7, LOW, 1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, again = { 0 };
    int64_t wake;

    (void)state;
    j.priority = 4711;
    assert_int_equal(sched_job_price(s, &j), 0);
    assert_null(job_find(s, 7));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].kind, SCHED_PRICE);
    assert_int_equal(d.items[0].priority, 4711);
    assert_int_equal(sched_pass(s, NOW, &again, &wake), 0);
    assert_int_equal(again.n, 0);
    j.cpus_per_task = 0;
    assert_int_equal(sched_job_price(s, &j), -EINVAL);
    sched_free(s);
}

/* Of several partitions the highest; of jobs that run none. */
static void test_priority(void **state)
{
    static const char *const both[] = { "low", "high" };
    struct sched *s = cluster(1);
    struct sched_job j = inner_job(1, LOW, 1);

    (void)state;
    assert_int_equal(sched_job_priority(s, 1), 0);
    j.partitions = both;
    j.npartitions = 2;
    j.priority = 50;
    inner_put(s, j)->entries[1]->priority = 60;
    assert_int_equal(sched_job_priority(s, 1), 60);
    (void)inner_run(s, 1, LOW, 0, 1, 0, 60);
    assert_int_equal(sched_job_priority(s, 1), 0);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending),  cmocka_unit_test(test_running),
        cmocka_unit_test(test_requeued), cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_unknown),  cmocka_unit_test(test_channels),
        cmocka_unit_test(test_owner),    cmocka_unit_test(test_price),
        cmocka_unit_test(test_priority),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
