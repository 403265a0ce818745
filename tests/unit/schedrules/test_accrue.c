/* test_accrue.c - how many waiting jobs gain priority by age */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)
#define HOUR INT64_C(3600000000)

#include "limits_util.h"
#include "sched/rules/accrue.h"
#include "sched/rules/prio.h"

static struct sched_limits number_limit(enum sched_limit_number which, uint64_t count)
{
    struct sched_limits l;

    sched_limits_init(&l);
    l.numbers[which] = count;
    return l;
}

static void test_limited(void **state)
{
    struct sched_limits l;

    (void)state;
    sched_limits_init(&l);
    assert_false(accrue_limited(l.numbers));
    for (enum sched_limit_number k = 0; k < SCHED_LIMIT_NUMBERS; k++) {
        l = number_limit(k, 0); /* none at all is a limit too */
        assert_int_equal(accrue_limited(l.numbers),
                         k == SCHED_GRP_ACCRUE || k == SCHED_MAX_ACCRUE || k == SCHED_USER_ACCRUE ||
                             k == SCHED_ACCOUNT_ACCRUE);
    }
}

/* Five jobs that wait: the last two of another user; "a" ages, "-" does not. */
static void expect_ages(struct sched *s, int64_t at, const char *want)
{
    char got[8] = "";

    assert_int_equal(accrue_refresh(s, at), 0);
    for (uint32_t id = 1; id <= 5; id++)
        got[id - 1] = !job_find(s, id) ? ' ' : job_find(s, id)->no_age ? '-' : 'a';
    assert_string_equal(got, want);
}

static struct sched *queue_of_five(void)
{
    struct sched *s = limits_cluster(false);

    for (uint32_t id = 1; id <= 5; id++) {
        struct sched_job j = limits_job(id);

        j.uid = id > 3 ? 2002 : 2001;
        j.assoc_id = id > 3 ? BOB : ANN;
        put(s, j);
    }
    queue_enter(s, NOW);
    return s;
}

static void test_levels(void **state)
{
    static const struct {
        enum sched_limit_number which;
        uint32_t id;
        uint64_t count;
        const char *want;
    } rows[] = {
        { SCHED_GRP_ACCRUE, ANN, 2, "aa-aa" },
        { SCHED_MAX_ACCRUE, ANN, 2, "aa-aa" },
        { SCHED_GRP_ACCRUE, CHEM, 2, "aa---" },
        { SCHED_GRP_ACCRUE, CHEM, 4, "aaaa-" },
        { SCHED_MAX_ACCRUE, BOB, 1, "aaaa-" },
        { SCHED_GRP_ACCRUE, ROOT, 0, "-----" },
        { SCHED_GRP_ACCRUE, NORMAL, 3, "aaa--" },
        { SCHED_USER_ACCRUE, NORMAL, 1, "a--a-" },
        { SCHED_ACCOUNT_ACCRUE, NORMAL, 2, "aa---" },
        { SCHED_USER_ACCRUE, PART, 2, "aa-aa" }, /* of the partition's QOS */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched *s = queue_of_five();
        struct sched_limits l = number_limit(rows[i].which, rows[i].count);

        expect_ages(s, NOW, "aaaaa");
        if (rows[i].id >= NORMAL)
            limit_qos_put(s, rows[i].id, &l, 0);
        else
            limit_assoc(s, rows[i].id, &l);
        expect_ages(s, NOW, rows[i].want);
        sched_free(s);
    }
}

/* Who could keeps its place; when one goes the next may, and its age begins then. */
static void test_next(void **state)
{
    struct sched *s = queue_of_five();
    struct sched_limits l = number_limit(SCHED_GRP_ACCRUE, 2);

    (void)state;
    limit_assoc(s, CHEM, &l);
    expect_ages(s, NOW, "aa---");
    sched_job_remove(s, 1);
    expect_ages(s, NOW + HOUR, " aa--");
    assert_true(job_find(s, 3)->accrue_us == NOW + HOUR);
    put(s, limits_job(1)); /* queued again: its lower number does not push one out */
    queue_enter(s, NOW + 2 * HOUR);
    expect_ages(s, NOW + 2 * HOUR, "-aa--");
    put(s, limits_job(3)); /* changed: it keeps its place */
    queue_enter(s, NOW + 2 * HOUR);
    expect_ages(s, NOW + 2 * HOUR, "-aa--");
    sched_job_remove(s, 2);
    expect_ages(s, NOW + 2 * HOUR, "a a--"); /* the next by its number */
    assert_true(job_find(s, 1)->accrue_us == NOW + 2 * HOUR);
    l = number_limit(SCHED_GRP_ACCRUE, SCHED_NO_LIMIT);
    limit_assoc(s, CHEM, &l);
    expect_ages(s, NOW + 3 * HOUR, "a aaa");
    assert_true(job_find(s, 5)->accrue_us == NOW + 3 * HOUR);
    assert_true(job_find(s, 1)->accrue_us == NOW + 2 * HOUR); /* as it was */
    sched_free(s);
}

/* Nor does one push out a job that came and aged after the first were chosen. */
static void test_late(void **state)
{
    struct sched *s = queue_of_five();
    struct sched_limits l = number_limit(SCHED_GRP_ACCRUE, 5);

    (void)state;
    limit_assoc(s, CHEM, &l);
    expect_ages(s, NOW, "aaaaa");
    sched_job_remove(s, 1);
    put(s, limits_job(9));
    queue_enter(s, NOW + HOUR);
    expect_ages(s, NOW + HOUR, " aaaa");
    assert_false(job_find(s, 9)->no_age);
    put(s, limits_job(1));
    queue_enter(s, NOW + 2 * HOUR);
    expect_ages(s, NOW + 2 * HOUR, "-aaaa");
    assert_false(job_find(s, 9)->no_age);
    sched_free(s);
}

/* After a restart those that aged go on, whatever their numbers. */
static void test_restart(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_limits l = number_limit(SCHED_GRP_ACCRUE, 2);

    (void)state;
    for (uint32_t id = 1; id <= 5; id++) {
        struct sched_job j = limits_job(id);

        j.accrue_us = id % 2 ? INT64_MAX : 0; /* 2 and 4 aged */
        put(s, j);
    }
    queue_enter(s, NOW);
    limit_assoc(s, CHEM, &l);
    expect_ages(s, NOW, "-a-a-");
    expect_ages(s, NOW + HOUR, "-a-a-");
    assert_true(job_find(s, 2)->accrue_us <= NOW);
    sched_job_remove(s, 4);
    expect_ages(s, NOW + HOUR, "aa- -");
    sched_free(s);
}

/* Without enforcement, or for jobs of no association and no QOS, there is no such limit. */
static void test_not_enforced(void **state)
{
    struct sched *s = queue_of_five();
    struct sched_limits l = number_limit(SCHED_GRP_ACCRUE, 0);
    struct sched_job free_job = limits_job(6);

    (void)state;
    free_job.assoc_id = free_job.qos_id = 0;
    put(s, free_job);
    queue_enter(s, NOW);
    limit_assoc(s, ROOT, &l);
    expect_ages(s, NOW, "-----");
    assert_false(job_find(s, 6)->no_age);
    sched_limit_enforce(s, false, false);
    expect_ages(s, NOW + HOUR, "aaaaa");
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limited), cmocka_unit_test(test_levels),
        cmocka_unit_test(test_next),    cmocka_unit_test(test_late),
        cmocka_unit_test(test_restart), cmocka_unit_test(test_not_enforced),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("accrue", tests, NULL, NULL);
}
