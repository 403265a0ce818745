/* test_stepcpus.c - CPUs of exact steps: as recorded from Debian's Slurm 22.05 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "ctld/step/stepcpus.h"

static const struct stepcpus_node threads2 = { 2, 4, 2 }, threads1 = { 2, 4, 1 };

static uint32_t pick(const struct stepcpus_node *node, uint32_t free_mask, const char *dist,
                     uint32_t cpt, uint32_t count)
{
    struct bitmap *have, *got;
    uint32_t n = node->sockets * node->cores * node->threads, mask = 0;

    assert_int_equal(bitmap_new(n, &have), 0);
    for (uint32_t i = 0; i < n; i++)
        if (free_mask >> i & 1)
            bitmap_set(have, i);
    assert_int_equal(stepcpus_pick(have, node, dist, cpt, count, &got), 0);
    BITMAP_FOREACH (got, i)
        mask |= 1u << i;
    bitmap_free(have);
    bitmap_free(got);
    return mask;
}

/* There a step holds whole cores: compared by the cores of what ours takes. */
static uint32_t whole(uint32_t mask, uint32_t threads)
{
    uint32_t all = 0, core = (1u << threads) - 1;

    for (uint32_t at = 0; at < 32; at += threads)
        if (mask >> at & core)
            all |= core << at;
    return all;
}

static void as_recorded(void **state)
{
    static const struct {
        const struct stepcpus_node *node;
        const char *dist;
        uint32_t tasks, cpt, mask;
    } rows[] = {
        { &threads2, NULL, 1, 1, 0x3 },
        { &threads2, NULL, 2, 1, 0x3 },
        { &threads2, NULL, 3, 1, 0xf },
        { &threads2, NULL, 4, 1, 0xf },
        { &threads2, NULL, 5, 1, 0x3f },
        { &threads2, NULL, 6, 1, 0x3f },
        { &threads2, NULL, 2, 2, 0x303 },
        { &threads2, NULL, 2, 3, 0xf0f },
        { &threads2, NULL, 1, 4, 0xf },
        { &threads2, NULL, 1, 6, 0x3f },
        { &threads2, NULL, 3, 2, 0x30f },
        { &threads2, "block:block", 3, 1, 0xf },
        { &threads2, "block:block", 2, 2, 0xf },
        { &threads2, "block:cyclic", 4, 1, 0xf },
        { &threads2, "block:cyclic", 2, 2, 0x303 },
        { &threads2, "block:fcyclic", 2, 1, 0x3 },
        { &threads2, "block:fcyclic", 3, 1, 0x303 },
        { &threads2, "block:fcyclic", 4, 1, 0x303 },
        { &threads2, "block:fcyclic", 2, 2, 0x303 },
        { &threads1, NULL, 1, 1, 0x1 },
        { &threads1, NULL, 2, 1, 0x11 },
        { &threads1, NULL, 3, 1, 0x13 },
        { &threads1, NULL, 4, 1, 0x33 },
        { &threads1, NULL, 5, 1, 0x37 },
        { &threads1, NULL, 6, 1, 0x77 },
        { &threads1, NULL, 2, 2, 0x33 },
        { &threads1, NULL, 2, 3, 0x77 },
        { &threads1, NULL, 1, 4, 0xf },
        { &threads1, NULL, 1, 6, 0x3f },
        { &threads1, NULL, 3, 2, 0x3f },
        { &threads1, "block:block", 2, 1, 0x3 },
        { &threads1, "block:block", 3, 1, 0x7 },
        { &threads1, "block:block", 4, 1, 0xf },
        { &threads1, "block:block", 2, 2, 0xf },
        { &threads1, "block:fcyclic", 2, 1, 0x11 },
        { &threads1, "block:fcyclic", 3, 1, 0x13 },
        { &threads1, "block:fcyclic", 4, 1, 0x33 },
        { &threads1, "block:fcyclic", 2, 2, 0x33 },
        { &threads1, "cyclic:block,pack", 2, 1, 0x3 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint32_t got =
            pick(rows[i].node, UINT32_MAX, rows[i].dist, rows[i].cpt, rows[i].tasks * rows[i].cpt);

        if (whole(got, rows[i].node->threads) != rows[i].mask)
            fail_msg("row %zu: %x, not %x", i, got, rows[i].mask);
        assert_int_equal(__builtin_popcount(got), rows[i].tasks * rows[i].cpt);
    }
}

static void around_what_is_held(void **state)
{
    (void)state;
    assert_int_equal(pick(&threads1, 0xee, NULL, 1, 2), 0x22);
    assert_int_equal(pick(&threads1, 0xf0, NULL, 1, 3), 0x70); /* the other socket has nothing */
    /* the other thread of a core in use */
    assert_int_equal(pick(&threads2, 0xfffe, NULL, 1, 1), 0x2);
    assert_int_equal(pick(&threads1, 0x11, NULL, 1, 5), 0x11); /* no more than there is */
    assert_int_equal(pick(&threads1, 0, NULL, 1, 2), 0);
}

/* An exact step owns its cores: what is free of them comes along. */
static void whole_cores(void **state)
{
    struct bitmap *have, *got;

    (void)state;
    assert_int_equal(bitmap_new(16, &have), 0);
    assert_int_equal(bitmap_new(16, &got), 0);
    bitmap_set_range(have, 0, 7); /* CPU 7 is another job's */
    bitmap_set(got, 1);
    bitmap_set(got, 6);
    assert_int_equal(stepcpus_widen(have, &threads2, got), 0);
    assert_true(bitmap_test(got, 0) && bitmap_test(got, 1) && bitmap_test(got, 6));
    assert_int_equal(bitmap_count(got), 3);
    bitmap_free(have);
    bitmap_free(got);
}

/* CPUs of the configuration that are not what its sockets, cores and threads make. */
static void odd_geometry(void **state)
{
    static const struct stepcpus_node odd = { 3, 2, 1 };
    struct bitmap *have, *got;

    (void)state;
    assert_int_equal(bitmap_new(4, &have), 0);
    bitmap_set_range(have, 1, 3);
    assert_int_equal(stepcpus_pick(have, &odd, NULL, 1, 2, &got), 0);
    assert_true(bitmap_test(got, 1) && bitmap_test(got, 2) && bitmap_count(got) == 2);
    bitmap_free(have);
    bitmap_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_recorded),
        cmocka_unit_test(around_what_is_held),
        cmocka_unit_test(whole_cores),
        cmocka_unit_test(odd_geometry),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
