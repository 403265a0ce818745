/* test_limit_feed.c - limits, TRES and usage as they are fed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched/rules/limit_feed.h"

#define NOW INT64_C(1700000000000000)
#include "limits_util.h"

static struct level *assoc_level(struct sched *s, uint32_t id)
{
    return level_find(s, level_key_assoc(id));
}

/* A TRES that a limit names before it is known is another one until its name comes. */
static void test_tres(void **state)
{
    struct sched *s = limits_cluster(false);
    uint32_t slot = 99, again = 98, n = s->limits->ntres;

    (void)state;
    assert_int_equal(tres_slot(s, 2001, &slot), 0);
    assert_int_equal(slot, n);
    assert_int_equal(s->limits->tres[slot].type, SCHED_TRES_OTHER);
    assert_int_equal(sched_tres_put(s, 2001, "gres/gpu:a100"), 0);
    assert_int_equal(tres_slot(s, 2001, &again), 0);
    assert_int_equal(again, slot);
    assert_int_equal(s->limits->tres[slot].type, SCHED_TRES_GRES);
    assert_string_equal(s->gres_tab.names[s->limits->tres[slot].gres_name], "gpu");
    assert_string_equal(s->gres_tab.names[s->limits->tres[slot].gres_type], "a100");
    assert_int_equal(sched_tres_put(s, 2002, "license/matlab"), 0);
    assert_int_equal(sched_tres_put(s, 2003, "bb/cray"), 0);
    assert_int_equal(sched_tres_put(s, 2004, "fs/lustre"), 0);
    assert_int_equal(tres_slot(s, 2002, &slot), 0);
    assert_int_equal(s->limits->tres[slot].type, SCHED_TRES_LICENSE);
    assert_string_equal(s->lic_tab.names[s->limits->tres[slot].lic], "matlab");
    assert_int_equal(s->limits->tres[slot + 1].type, SCHED_TRES_BB);
    assert_int_equal(s->limits->tres[slot + 2].type, SCHED_TRES_OTHER);
    for (uint32_t id = 3000; s->limits->ntres < SCHED_TRES_MAX; id++)
        assert_int_equal(tres_slot(s, id, &slot), 0);
    assert_int_equal(tres_slot(s, 9999, &slot), -ERANGE);
    assert_int_equal(sched_tres_put(s, 9999, "fs/home"), -ERANGE);
    sched_free(s);
}

static void test_put(void **state)
{
    const struct sched_tres_limit cpus = { .tres_id = CPU, .count = 7 };
    struct sched *s = limits_cluster(false);
    struct sched_limits l;
    uint64_t change;

    (void)state;
    sched_limits_init(&l);
    assert_true(l.numbers[SCHED_MAX_JOBS] == SCHED_NO_LIMIT);
    l.lists[SCHED_GRP_TRES].v = &cpus;
    l.lists[SCHED_GRP_TRES].n = 1;
    l.numbers[SCHED_MAX_JOBS] = 3;
    assert_int_equal(sched_limit_assoc_put(s, 0, 0, "chem", &l), -EINVAL);
    assert_int_equal(sched_limit_assoc_put(s, 8, 8, "chem", &l), -EINVAL); /* its own parent */
    change = s->change;
    assert_int_equal(sched_limit_assoc_put(s, ANN, CHEM, "chem", &l), 0);
    assert_true(s->change > change); /* jobs that wait are looked at again */
    assert_int_equal(assoc_level(s, ANN)->numbers[SCHED_MAX_JOBS], 3);
    assert_int_equal(assoc_level(s, ANN)->lists[SCHED_GRP_TRES].n, 1);
    assert_int_equal(assoc_level(s, ANN)->lists[SCHED_GRP_TRES].v[0].count, 7);
    sched_limits_init(&l);
    assert_int_equal(sched_limit_assoc_put(s, ANN, CHEM, "chem", &l), 0); /* replaces all */
    assert_int_equal(assoc_level(s, ANN)->lists[SCHED_GRP_TRES].n, 0);
    assert_true(assoc_level(s, ANN)->numbers[SCHED_MAX_JOBS] == SCHED_NO_LIMIT);
    sched_limit_assoc_remove(s, ANN);
    assert_false(assoc_level(s, ANN)->exists);
    sched_limit_assoc_remove(s, 4711);
    sched_free(s);
}

static void test_usage(void **state)
{
    const struct sched_tres_usage used = { .tres_id = CPU, .minutes = 90 },
                                  less = { .tres_id = CPU, .minutes = 45 };
    struct sched *s = limits_cluster(false);
    uint64_t change;
    uint32_t slot;

    (void)state;
    assert_int_equal(sched_limit_usage(s, false, 4711, &used, 1, 0), -ENOENT);
    assert_int_equal(tres_slot(s, CPU, &slot), 0);
    change = s->change;
    assert_int_equal(sched_limit_usage(s, false, ANN, &used, 1, 10), 0);
    assert_true(assoc_level(s, ANN)->counts[slot].minutes == 90);
    assert_true(assoc_level(s, ANN)->wall_minutes == 10);
    assert_int_equal(s->change, change); /* more used lets nobody start */
    assert_int_equal(sched_limit_usage(s, false, ANN, &less, 1, 10), 0);
    assert_int_equal(s->change, change + 1);
    assert_int_equal(sched_limit_usage(s, false, ANN, &less, 1, 9), 0);
    assert_int_equal(s->change, change + 2);
    sched_free(s);
}

static void test_enforce(void **state)
{
    struct sched *s = limits_cluster(false);
    uint64_t change = s->change;

    (void)state;
    sched_limit_enforce(s, true, false);
    assert_int_equal(s->change, change); /* as it was */
    sched_limit_enforce(s, true, true);
    assert_true(s->limits->on && s->limits->safe);
    assert_int_equal(s->change, change + 1);
    sched_limit_enforce(s, false, false);
    assert_false(s->limits->on);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_tres), cmocka_unit_test(test_put),
                                        cmocka_unit_test(test_usage),
                                        cmocka_unit_test(test_enforce) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
