/* test_limit_check.c - when a job is over a limit: which limit is told, and which one speaks */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)

#include "limits_util.h"
#include "sched/rules/limit_check.h"

/* Limits of one TRES in one list. */
static struct sched_limits list_limit(enum sched_limit_list list, uint32_t tres, uint64_t count)
{
    static struct sched_tres_limit one[8];
    static unsigned next;
    struct sched_tres_limit *v = &one[next++ % ARRAY_SIZE(one)];
    struct sched_limits l;

    sched_limits_init(&l);
    *v = (struct sched_tres_limit){ .tres_id = tres, .count = count };
    l.lists[list].v = v;
    l.lists[list].n = 1;
    return l;
}

static struct sched_limits number_limit(enum sched_limit_number which, uint64_t count)
{
    struct sched_limits l;

    sched_limits_init(&l);
    l.numbers[which] = count;
    return l;
}

static void expect_free(struct sched *s, struct job *j)
{
    struct sched_limit_hit hit;

    assert_false(limit_hit(s, j->entries[0], NULL, NOW, &hit));
    assert_int_equal(limit_refuses(s, j->entries[0], NULL, j->time_limit_min, NOW), SCHED_WHY_NONE);
}

static void expect_hit(struct sched *s, struct job *j, struct sched_limit_hit want)
{
    struct sched_limit_hit hit = { 0 };

    assert_true(limit_hit(s, j->entries[0], NULL, NOW, &hit));
    assert_int_equal(hit.limit, want.limit);
    assert_int_equal(hit.qos, want.qos);
    assert_int_equal(hit.id, want.id);
    assert_int_equal(hit.tres_id, want.tres_id);
    assert_true(hit.value == want.value);
    assert_true(hit.used == want.used);
    assert_true(hit.asked == want.asked);
    assert_int_equal(limit_refuses(s, j->entries[0], NULL, j->time_limit_min, NOW),
                     SCHED_WHY_LIMIT);
    assert_int_equal(j->entries[0]->limit, want.limit);
}

/* A limit of the job alone does not go away while other jobs end. */
static void test_own(void **state)
{
    static const unsigned own[] = {
        SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_JOB, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_NODE, SCHED_TRES_GRES),
        SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_MINS, SCHED_TRES_BILLING),
        SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_JOB, SCHED_TRES_OTHER),
        SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_NODE, SCHED_TRES_MEM),
        SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_MINS, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_QOS_MIN, SCHED_TRES_CPU),
        SCHED_LIMIT_ASSOC_MAX_WALL,
        SCHED_LIMIT_QOS_MAX_WALL,
    };
    static const unsigned others[] = {
        SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP_MINS, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP_RUN_MINS, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_QOS_GRP, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_USER, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_ACCOUNT, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_QOS_RUN_MINS_USER, SCHED_TRES_CPU),
        SCHED_LIMIT(SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT, SCHED_TRES_CPU),
        SCHED_LIMIT_ASSOC_GRP_JOBS,
        SCHED_LIMIT_ASSOC_GRP_WALL,
        SCHED_LIMIT_ASSOC_MAX_JOBS,
        SCHED_LIMIT_QOS_USER_JOBS,
        SCHED_LIMIT_QOS_ACCOUNT_JOBS,
        SCHED_LIMIT_QOS_USAGE_THRESHOLD,
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        assert_true(limit_is_own(own[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(limit_is_own(others[i]));
}

/* What is told names the level, what it grants, what is used and what is asked. */
static void test_told(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits l = list_limit(SCHED_GRP_TRES, CPU, 15);
    struct job *j;

    (void)state;
    (void)limits_runs(s, limits_job(1)); /* 8 CPUs on two nodes */
    j = limits_waits(s, limits_job(2));
    expect_free(s, j);
    limit_assoc(s, CHEM, &l);
    expect_hit(
        s, j,
        (struct sched_limit_hit){ .limit = SCHED_LIMIT(SCHED_LIMIT_ASSOC_GRP, SCHED_TRES_CPU),
                                  .id = CHEM,
                                  .tres_id = CPU,
                                  .value = 15,
                                  .used = 8,
                                  .asked = 8 });
    l = list_limit(SCHED_GRP_TRES, CPU, 16); /* just enough */
    limit_assoc(s, CHEM, &l);
    expect_free(s, j);
    l = number_limit(SCHED_MAX_WALL, 9);
    limit_assoc(s, ANN, &l);
    expect_hit(s, j,
               (struct sched_limit_hit){
                   .limit = SCHED_LIMIT_ASSOC_MAX_WALL, .id = ANN, .value = 9, .asked = 10 });
    l = number_limit(SCHED_MAX_WALL, 10);
    limit_assoc(s, ANN, &l);
    expect_free(s, j);
    sched_free(s);
}

/* What a QOS says replaces what associations say of the same limit, not of another. */
static void test_precedence(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits tight = list_limit(SCHED_MAX_TRES_JOB, CPU, 4);
    struct sched_limits loose = list_limit(SCHED_MAX_TRES_JOB, CPU, 64);
    struct sched_limits gpus = list_limit(SCHED_MAX_TRES_JOB, GPU, 1);
    struct job *j = limits_waits(s, limits_job(1));
    const struct sched_limit_hit of_assoc = { .limit = SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_JOB,
                                                                   SCHED_TRES_CPU),
                                              .id = ANN,
                                              .tres_id = CPU,
                                              .value = 4,
                                              .asked = 8 };
    struct sched_limit_hit of_qos = { .limit = SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_JOB, SCHED_TRES_CPU),
                                      .qos = true,
                                      .id = NORMAL,
                                      .tres_id = CPU,
                                      .value = 4,
                                      .asked = 8 };

    (void)state;
    limit_assoc(s, ANN, &tight);
    expect_hit(s, j, of_assoc);
    limit_qos_put(s, NORMAL, &loose, 0);
    expect_free(s, j);
    limit_qos_put(s, NORMAL, &gpus, 0); /* of another TRES: the CPUs are the association's matter */
    limit_assoc(s, ANN, &tight);
    expect_hit(
        s, j,
        (struct sched_limit_hit){ .limit = SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_JOB, SCHED_TRES_GRES),
                                  .qos = true,
                                  .id = NORMAL,
                                  .tres_id = GPU,
                                  .value = 1,
                                  .asked = 2 });

    /* The partition's QOS comes before the job's, unless that one says OverPartQOS. */
    limit_assoc(s, ANN, NULL);
    limit_qos_put(s, NORMAL, &tight, 0);
    limit_qos_put(s, PART, &loose, 0);
    expect_free(s, j);
    limit_qos_put(s, NORMAL, &tight, SCHED_QOS_OVER_PART);
    expect_hit(s, j, of_qos);
    limit_qos_put(s, NORMAL, &loose, SCHED_QOS_OVER_PART);
    limit_qos_put(s, PART, &tight, 0);
    expect_free(s, j);
    limit_qos_put(s, NORMAL, NULL, SCHED_QOS_OVER_PART); /* it says nothing */
    of_qos.id = PART;
    expect_hit(s, j, of_qos);
    sched_free(s);
}

/* Values in per cent of the cluster's, and an association's times the QOS' LimitFactor. */
static void test_scaled(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits half = list_limit(SCHED_MAX_TRES_JOB, CPU, 49); /* 7 of 16 CPUs */
    struct sched_limits four = list_limit(SCHED_MAX_TRES_JOB, CPU, 4);
    struct sched_qos_limits q = { .usage_factor = 1, .limit_factor = 1.75 };
    struct job *j = limits_waits(s, limits_job(1));

    (void)state;
    limit_qos_put(s, NORMAL, &half, SCHED_QOS_RELATIVE);
    expect_hit(
        s, j,
        (struct sched_limit_hit){ .limit = SCHED_LIMIT(SCHED_LIMIT_QOS_MAX_JOB, SCHED_TRES_CPU),
                                  .qos = true,
                                  .id = NORMAL,
                                  .tres_id = CPU,
                                  .value = 7,
                                  .asked = 8 });
    half = list_limit(SCHED_MAX_TRES_JOB, CPU, 50);
    limit_qos_put(s, NORMAL, &half, SCHED_QOS_RELATIVE);
    expect_free(s, j);

    limit_assoc(s, ANN, &four);
    sched_limits_init(&q.limits);
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0);
    expect_hit(
        s, j,
        (struct sched_limit_hit){ .limit = SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_JOB, SCHED_TRES_CPU),
                                  .id = ANN,
                                  .tres_id = CPU,
                                  .value = 7,
                                  .asked = 8 });
    q.limit_factor = 2;
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0);
    expect_free(s, j);
    sched_free(s);
}

/* Safe: only what can end within the minutes that are left starts, and a job without an end cannot
 * end within any. */
static void test_safe(void **state)
{
    for (int safe = 0; safe < 2; safe++) {
        struct sched *s = limits_cluster(safe);
        struct sched_limits l = list_limit(SCHED_GRP_TRES_MINS, CPU, 79);
        struct sched_job endless = limits_job(2);
        struct sched_limit_hit hit;
        struct job *j = limits_waits(s, limits_job(1)), *e;

        (void)state;
        endless.time_limit_min = SCHED_UNLIMITED;
        e = limits_waits(s, endless);
        limit_assoc(s, CHEM, &l);
        assert_int_equal(limit_hit(s, j->entries[0], NULL, NOW, &hit), safe); /* 8 for 10 minutes */
        l = list_limit(SCHED_GRP_TRES_MINS, CPU, 80);
        limit_assoc(s, CHEM, &l);
        assert_false(limit_hit(s, j->entries[0], NULL, NOW, &hit));
        l = list_limit(SCHED_GRP_TRES_MINS, CPU, UINT64_C(1000000000));
        limit_assoc(s, CHEM, &l);
        assert_int_equal(limit_hit(s, e->entries[0], NULL, NOW, &hit), safe);
        assert_int_equal(limit_hit(s, j->entries[0], NULL, NOW, &hit), 0);
        sched_free(s);
    }
}

/* The same of a QOS, by whose usage factor minutes count where that is asked for. */
static void test_safe_factor(void **state)
{
    struct sched *s = limits_cluster(true);
    struct sched_limits l = list_limit(SCHED_GRP_TRES_MINS, CPU, 100);
    struct sched_qos_limits q = { .limits = l, .usage_factor = 2 };
    struct sched_job endless = limits_job(2);
    struct sched_limit_hit hit;
    struct job *j = limits_waits(s, limits_job(1)), *e;

    (void)state;
    endless.time_limit_min = SCHED_UNLIMITED;
    e = limits_waits(s, endless);
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0);
    assert_false(limit_hit(s, j->entries[0], NULL, NOW, &hit));
    q.flags = SCHED_QOS_FACTOR_SAFE;
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0);
    assert_true(limit_hit(s, j->entries[0], NULL, NOW, &hit));
    assert_true(hit.asked == 160 && hit.value == 100);
    assert_true(limit_hit(s, e->entries[0], NULL, NOW, &hit));
    q.usage_factor = 0; /* what costs nothing never runs out of minutes */
    assert_int_equal(sched_limit_qos_put(s, NORMAL, &q), 0);
    assert_false(limit_hit(s, j->entries[0], NULL, NOW, &hit));
    sched_free(s);
}

/* One that asks for nothing of a TRES does not wait for its minutes. */
static void test_nothing_asked(void **state)
{
    for (int safe = 0; safe < 2; safe++) {
        struct sched *s = limits_cluster(safe);
        struct sched_limits l = list_limit(SCHED_GRP_TRES_MINS, GPU, 10); /* job 1 has 20 to go */
        const struct sched_tres_usage spent = { .tres_id = GPU, .minutes = 11 };
        struct sched_job plain = limits_job(2);
        struct sched_limit_hit hit;
        struct job *j;

        (void)state;
        (void)limits_runs(s, limits_job(1));
        limit_assoc(s, CHEM, &l);
        plain.ngres = 0;
        j = limits_waits(s, plain);
        assert_false(limit_hit(s, j->entries[0], NULL, NOW, &hit));
        assert_int_equal(sched_limit_usage(s, false, CHEM, &spent, 1, 0), 0);
        assert_false(limit_hit(s, j->entries[0], NULL, NOW, &hit));
        j = limits_waits(s, limits_job(3));
        assert_true(limit_hit(s, j->entries[0], NULL, NOW, &hit));
        sched_free(s);
    }
}

static void test_flags(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits l = number_limit(SCHED_MIN_PRIO, 500);
    struct job *j = limits_waits(s, limits_job(1));
    uint32_t least = 7;

    (void)state;
    assert_int_equal(limit_qos_flags(s, j), 0);
    assert_true(limit_may_reserve(s, j->entries[0], &least));
    assert_int_equal(least, 7); /* nobody asks for any */
    limit_qos_put(s, NORMAL, NULL, SCHED_QOS_NO_RESERVE);
    assert_int_equal(limit_qos_flags(s, j), SCHED_QOS_NO_RESERVE);
    assert_false(limit_may_reserve(s, j->entries[0], &least));
    limit_qos_put(s, NORMAL, NULL, 0);
    limit_assoc(s, ANN, &l);
    assert_true(limit_may_reserve(s, j->entries[0], &least));
    assert_int_equal(least, 500);
    l = number_limit(SCHED_MIN_PRIO, 900);
    limit_qos_put(s, NORMAL, &l, 0);
    assert_true(limit_may_reserve(s, j->entries[0], &least));
    assert_int_equal(least, 900);
    sched_free(s);
}

/* Not enforced, or of a job that nothing counts: no limit is heeded. */
static void test_not_heeded(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits l = list_limit(SCHED_MAX_TRES_JOB, CPU, 1);
    struct sched_job operators = limits_job(2);
    struct job *j = limits_waits(s, limits_job(1)), *o;

    (void)state;
    operators.any_size = true;
    o = limits_waits(s, operators);
    limit_assoc(s, ANN, &l);
    expect_free(s, o); /* an operator gave the size */
    sched_limit_enforce(s, false, false);
    expect_free(s, j);
    sched_limit_enforce(s, true, false);
    assert_int_equal(limit_refuses(s, j->entries[0], NULL, 10, NOW), SCHED_WHY_LIMIT);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),           cmocka_unit_test(test_told),
        cmocka_unit_test(test_precedence),    cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_safe),          cmocka_unit_test(test_safe_factor),
        cmocka_unit_test(test_nothing_asked), cmocka_unit_test(test_flags),
        cmocka_unit_test(test_not_heeded),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("limit_check", tests, NULL, NULL);
}
