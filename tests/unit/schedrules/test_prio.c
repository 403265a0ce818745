/* test_prio.c - the priority of a job from its factors, and what associations and QOS give */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)
#define HOUR INT64_C(3600000000)

#include "limits_util.h"
#include "sched/rules/assoctree.h"
#include "sched/rules/prio.h"

static void expect_near(double got, double want)
{
    if (got < want - 1e-9 || got > want + 1e-9)
        fail_msg("%.12f in place of %.12f", got, want);
}

static struct sched *cluster_with(struct sched_params p)
{
    p.multifactor = true;
    return util_cluster(p, 4, 8, 0); /* 32 CPUs */
}

static uint32_t priority_at(struct sched *s, struct sched_job j, int64_t at)
{
    struct job *job;
    uint32_t prio;

    put(s, j);
    job = job_find(s, j.id);
    prio = entry_priority(s, job->entries[0], at);
    sched_job_remove(s, j.id);
    return prio;
}

/* In order of the numbers, the first as high as Slurm's; whatever the numbers, at least 1. */
static void test_basic(void **state)
{
    struct sched *s = util_cluster((struct sched_params){ .multifactor = false }, 1, 4, 0);
    struct sched_job j = util_job(1);

    (void)state;
    assert_true(priority_at(s, j, NOW) == UINT32_C(4294901760));
    j.id = 3;
    assert_true(priority_at(s, j, NOW) == UINT32_C(4294901758));
    j.nice = 100;
    assert_true(priority_at(s, j, NOW) == UINT32_C(4294901658));
    j.nice = INT32_MIN + 3; /* sbatch --nice=-2147483645, by root */
    assert_true(priority_at(s, j, NOW) == UINT32_MAX);
    j.priority = 17; /* an operator's word: nice and factors do not count */
    assert_int_equal(priority_at(s, j, NOW), 17);
    sched_free(s);
}

static void test_age(void **state)
{
    struct sched *s = cluster_with((struct sched_params){ .weight_age = 1000, .max_age_s = 36000 });
    struct sched_job j = util_job(1);

    (void)state;
    j.submit_us = NOW - 5 * HOUR;
    j.eligible_us = NOW - HOUR;
    assert_int_equal(priority_at(s, j, NOW), 100); /* from when it could have run */
    assert_int_equal(priority_at(s, j, NOW + 8 * HOUR), 900);
    assert_int_equal(priority_at(s, j, NOW + 30 * HOUR), 1000); /* no older than PriorityMaxAge */
    assert_int_equal(priority_at(s, j, NOW - 2 * HOUR), 1);
    j.nice = 40;
    assert_int_equal(priority_at(s, j, NOW), 60);
    j.nice = 5000; /* never 0: that is a held job */
    assert_int_equal(priority_at(s, j, NOW), 1);
    j.nice = 0;
    j.site_factor = 7;
    assert_int_equal(priority_at(s, j, NOW), 107);
    j.site_factor = 0;
    j.accrue_us = INT64_MAX; /* it does not age */
    assert_int_equal(priority_at(s, j, NOW + 8 * HOUR), 1);
    sched_free(s);

    s = cluster_with((struct sched_params){
        .weight_age = 1000, .max_age_s = 36000, .prio_flags = SCHED_PRIO_ACCRUE_ALWAYS });
    j = util_job(1);
    j.submit_us = NOW - 5 * HOUR;
    j.eligible_us = NOW - HOUR;
    assert_int_equal(priority_at(s, j, NOW), 500);
    sched_free(s);
}

/* Two of four nodes and 8 of 32 CPUs. */
static void test_size(void **state)
{
    struct sched_params p = { .weight_job_size = 1000 };
    struct sched_job j = util_job(1);
    struct sched *s = cluster_with(p);

    (void)state;
    j.min_nodes = 2;
    j.num_tasks = 8;
    j.time_limit_min = 4;
    assert_int_equal(priority_at(s, j, NOW), 375); /* (1/2 + 1/4) / 2 */
    sched_free(s);
    p.favor_small = true;
    s = cluster_with(p);
    assert_int_equal(priority_at(s, j, NOW), 625);
    sched_free(s);
    p.favor_small = false;
    p.prio_flags = SCHED_PRIO_SMALL_RELATIVE_TO_TIME; /* 8 CPUs by 4 minutes of 32 */
    s = cluster_with(p);
    assert_int_equal(priority_at(s, j, NOW), 62);
    j.time_limit_min = SCHED_UNLIMITED;
    assert_int_equal(priority_at(s, j, NOW), 1);
    sched_free(s);
    p.favor_small = true;
    s = cluster_with(p);
    assert_int_equal(priority_at(s, j, NOW), 1000);
    sched_free(s);
}

/* Parts of the greatest there is; as they are with the NO_NORMAL flags. */
static void test_tree(void **state)
{
    struct sched *s = cluster_with(
        (struct sched_params){ .weight_assoc = 100, .weight_qos = 10, .weight_fairshare = 1000 });
    struct sched_assoc root = { .id = 1, .shares = 1 };
    struct sched_assoc ann = { .id = 2, .parent = 1, .shares = 1, .user = true, .priority = 5 };
    struct sched_assoc bob = { .id = 3, .parent = 1, .shares = 1, .user = true, .priority = 20 };
    struct sched_job j = util_job(1);

    (void)state;
    expect_near(assoc_factor(s, 2), 0); /* nobody is known */
    expect_near(assoc_fairshare(s, 2), 0);
    expect_near(qos_factor(s, 0), 0);
    bob.usage = 10;
    assert_int_equal(sched_assoc_put(s, &root), 0);
    assert_int_equal(sched_assoc_put(s, &ann), 0);
    assert_int_equal(sched_assoc_put(s, &bob), 0);
    assert_int_equal(assocs_refresh(s), 0);
    expect_near(assoc_factor(s, 2), 0.25);
    expect_near(assoc_factor(s, 3), 1);
    expect_near(assoc_factor(s, 1), 0);
    expect_near(assoc_factor(s, 77), 0);
    expect_near(assoc_fairshare(s, 2), 1); /* first of two users */
    expect_near(assoc_fairshare(s, 3), 0.5);

    assert_int_equal(sched_qos_put(s, "low", 10), 0);
    assert_int_equal(sched_qos_put(s, "high", 40), 0);
    j.assoc_id = 2;
    j.qos = "low";
    assert_int_equal(priority_at(s, j, NOW), 1000 + 25 + 2); /* 10 * 1/4, cut */
    j.assoc_id = 3;
    j.qos = "high";
    assert_int_equal(priority_at(s, j, NOW), 500 + 100 + 10);
    sched_qos_remove(s, "high"); /* "low" is the greatest now */
    j.qos = "low";
    assert_int_equal(priority_at(s, j, NOW), 500 + 100 + 10);

    sched_assoc_remove(s, 2); /* bob's place is found still */
    assert_int_equal(assocs_refresh(s), 0);
    expect_near(assoc_fairshare(s, 2), 0);
    expect_near(assoc_fairshare(s, 3), 1);
    assert_int_equal(sched_assoc_usage(s, 2, 1), -ENOENT);
    assert_int_equal(sched_assoc_put(s, &(struct sched_assoc){ .id = 4, .parent = 4 }), -EINVAL);
    sched_assocs_clear(s);
    assert_int_equal(assocs_refresh(s), 0);
    expect_near(assoc_factor(s, 3), 0);
    sched_free(s);

    s = cluster_with((struct sched_params){ .prio_flags = SCHED_PRIO_NO_NORMAL_ASSOC |
                                                          SCHED_PRIO_NO_NORMAL_QOS });
    assert_int_equal(sched_assoc_put(s, &ann), 0);
    assert_int_equal(sched_qos_put(s, "low", 10), 0);
    assert_int_equal(assocs_refresh(s), 0);
    expect_near(assoc_factor(s, 2), 5);
    expect_near(qos_factor(s, 0), 10);
    sched_free(s);
}

/* Hundreds of associations are found, whatever their numbers, also after some have gone. */
static void test_many(void **state)
{
    struct sched *s = cluster_with((struct sched_params){ .weight_assoc = 1 });

    (void)state;
    for (uint32_t i = 1; i <= 500; i++) {
        struct sched_assoc a = { .id = i * 4096, .shares = 1, .priority = i };

        assert_int_equal(sched_assoc_put(s, &a), 0);
    }
    for (uint32_t i = 1; i <= 500; i += 3)
        sched_assoc_remove(s, i * 4096);
    assert_int_equal(assocs_refresh(s), 0);
    for (uint32_t i = 1; i <= 500; i++)
        expect_near(assoc_factor(s, i * 4096), i % 3 == 1 ? 0 : i / 500.0);
    sched_free(s);
}

/* A job that came after the last computation is as of when it came, not of now. */
static void test_as_of(void **state)
{
    struct sched *s = cluster_with((struct sched_params){ .weight_age = 1000, .max_age_s = 36000 });
    struct job j = { .submit_us = NOW - 2 * HOUR, .eligible_us = NOW - HOUR };

    (void)state;
    assert_true(prio_as_of(s, &j, NOW) == NOW); /* nothing was computed yet */
    assert_int_equal(prio_refresh(s, NOW - 3 * HOUR), 0);
    assert_true(prio_as_of(s, &j, NOW) == NOW - HOUR);
    assert_int_equal(prio_refresh(s, NOW - HOUR / 2), 0);
    assert_true(prio_as_of(s, &j, NOW) == NOW - HOUR / 2);
    j.eligible_us = NOW + HOUR;
    assert_true(prio_as_of(s, &j, NOW) == NOW);
    sched_free(s);
}

/* Every PriorityCalcPeriod; with INCR_ONLY never lower. */
static void test_period(void **state)
{
    for (int incr = 0; incr < 2; incr++) {
        struct sched_params p = { .weight_qos = 1000,
                                  .weight_age = 1,
                                  .prio_period_s = 60,
                                  .prio_flags = incr ? SCHED_PRIO_INCR_ONLY : 0 };
        struct sched *s = cluster_with(p);
        struct sched_job in = util_job(1);
        struct job *j;

        (void)state;
        in.qos = "q";
        assert_int_equal(sched_qos_put(s, "q", 10), 0);
        put(s, in);
        j = job_find(s, 1);
        assert_int_equal(prio_refresh(s, NOW), 0);
        queue_enter(s, NOW);
        assert_int_equal(j->entries[0]->priority, 1000);
        assert_int_equal(waiting_priority(s, j), 1000);
        assert_int_equal(sched_qos_put(s, "other", 40), 0); /* a quarter of it now */
        s->prio_done = true;                                /* as if nobody had said so */
        assert_int_equal(prio_refresh(s, NOW + 59 * INT64_C(1000000)), 0);
        assert_int_equal(j->entries[0]->priority, 1000);
        assert_int_equal(prio_refresh(s, NOW + 60 * INT64_C(1000000)), 0);
        assert_int_equal(j->entries[0]->priority, incr ? 1000 : 250);
        sched_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic),  cmocka_unit_test(test_age),  cmocka_unit_test(test_size),
        cmocka_unit_test(test_tree),   cmocka_unit_test(test_many), cmocka_unit_test(test_as_of),
        cmocka_unit_test(test_period),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("prio", tests, NULL, NULL);
}
