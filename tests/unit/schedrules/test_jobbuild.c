/* test_jobbuild.c - a job's record from what is fed: its entries, its age, and what is refused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)

#include "limits_util.h"
#include "sched/state/classes.h"
#include "sched/state/jobbuild.h"
#include "sched/state/shape.h"

static struct job *build(struct sched *s, const struct sched_job *in)
{
    struct job *j = NULL;

    assert_int_equal(job_build(s, in, &j), 0);
    assert_non_null(j);
    assert_null(job_find(s, in->id)); /* in no table */
    for (uint32_t i = 0; i < j->nentries; i++)
        assert_int_equal(j->entries[i]->state, ENTRY_OUT); /* and no queue */
    return j;
}

/* One for each partition, in the order of preference, each once. */
static void test_partitions(void **state)
{
    static const char *const parts[] = { "main", "other", "main" };
    struct sched *s = limits_cluster(false);
    struct sched_job in = util_job(5);
    struct job *j;

    (void)state;
    in.partitions = parts;
    in.npartitions = 3;
    j = build(s, &in);
    assert_int_equal(j->nentries, 2);
    assert_int_equal(j->entries[0]->rank, 0);
    assert_int_equal(j->entries[1]->rank, 1);
    assert_int_equal(j->entries[0]->part, 0);
    assert_int_equal(j->entries[1]->part, 1); /* one that is not there yet has a place */
    assert_ptr_equal(j->entries[0]->job, j);
    assert_false(j->entries[0]->ahead || j->entries[0]->magnetic || j->entries[0]->first);
    assert_true(j->end_us == INT64_MAX);
    job_free(s, j);
    sched_free(s);
}

/* Reservations come before the rest of the cluster, unless there is no rest. */
static void test_reservations(void **state)
{
    static const struct sched_job_resv resvs[] = { { .id = 4 }, { .id = 9, .magnetic = true } };
    struct sched *s = limits_cluster(false);
    struct sched_job in = util_job(5);
    struct job *j;

    (void)state;
    in.resvs = resvs;
    in.nresvs = 2;
    j = build(s, &in);
    assert_int_equal(j->nentries, 3);
    assert_int_equal(j->entries[0]->cls->shape->key.resv, 4);
    assert_true(j->entries[0]->ahead && !j->entries[0]->magnetic);
    assert_int_equal(j->entries[1]->cls->shape->key.resv, 9);
    assert_true(!j->entries[1]->ahead && j->entries[1]->magnetic);
    assert_int_equal(j->entries[2]->cls->shape->key.resv, 0);
    job_free(s, j);
    in.resv_only = true;
    in.expedite = true;
    j = build(s, &in);
    assert_int_equal(j->nentries, 2);
    assert_true(j->entries[1]->first);
    job_free(s, j);
    sched_free(s);
}

static void test_age(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_job in = util_job(5);
    struct job *j;

    (void)state;
    in.eligible_us = NOW + 5;
    j = build(s, &in);
    assert_true(j->accrue_us == NOW + 5); /* since it could run */
    assert_false(j->no_age || s->no_ages);
    job_free(s, j);
    in.accrue_us = NOW + 9; /* as was told before */
    j = build(s, &in);
    assert_true(j->accrue_us == NOW + 9);
    job_free(s, j);
    in.accrue_us = INT64_MAX;
    j = build(s, &in);
    assert_true(j->no_age && j->told_no_age && s->no_ages);
    job_free(s, j);
    sched_free(s);
}

/* 0 is no label; each name has one number. */
static void test_labels(void **state)
{
    struct sched *s = limits_cluster(false);
    uint32_t a = 77, b = 77, again = 77;

    (void)state;
    assert_int_equal(label_id(s, NULL, &a), 0);
    assert_int_equal(a, 77); /* as it was */
    assert_false(s->labels);
    assert_int_equal(label_id(s, "red", &a), 0);
    assert_int_equal(label_id(s, "blue", &b), 0);
    assert_int_equal(label_id(s, "red", &again), 0);
    assert_true(a > 0 && b > 0 && a != b && a == again);
    assert_true(s->labels);
    sched_free(s);
}

static void test_het(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_job in = util_job(8);
    struct job *j;

    (void)state;
    j = build(s, &in);
    assert_null(j->het);
    job_free(s, j);
    in.het_id = 7;
    in.het_count = 3;
    j = build(s, &in);
    assert_int_equal(j->het->id, 7);
    assert_int_equal(j->het->count, 3);
    job_free(s, j);
    sched_free(s);
}

static void test_refused(void **state)
{
    static const char *parts[SCHED_MAX_JOB_PARTS + 1];
    static const struct sched_job_resv resvs[SCHED_MAX_JOB_RESVS + 1];
    struct sched *s = limits_cluster(false);
    struct sched_job in = util_job(5);
    struct job *j = NULL;

    (void)state;
    in.npartitions = 0;
    assert_int_equal(job_build(s, &in, &j), -EINVAL);
    for (size_t i = 0; i <= SCHED_MAX_JOB_PARTS; i++)
        parts[i] = "main";
    in.partitions = parts;
    in.npartitions = SCHED_MAX_JOB_PARTS + 1;
    assert_int_equal(job_build(s, &in, &j), -EINVAL);
    in.npartitions = SCHED_MAX_JOB_PARTS;
    assert_int_equal(job_build(s, &in, &j), 0);
    job_free(s, j);
    in = util_job(5);
    in.resvs = resvs;
    in.nresvs = SCHED_MAX_JOB_RESVS + 1;
    assert_int_equal(job_build(s, &in, &j), -EINVAL);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partitions), cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_age),        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_het),        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("jobbuild", tests, NULL, NULL);
}
