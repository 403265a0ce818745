/* test_topofrag.c - the fragmentation score: worked by hand, and against counting anew */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "sched/topo/topofrag.h"

enum { MOST = 64 };

struct blocks {
    uint32_t nodes[MOST];
    struct topo_unit_spec units[MOST];
    struct topo_spec spec;
};

/* Blocks with so many nodes each, one after the other. */
static struct topo *blocks_of(struct blocks *b, const uint32_t *counts, size_t n,
                              const uint32_t *sizes, size_t nsizes)
{
    struct topo *t = NULL;
    uint32_t at = 0;

    for (size_t i = 0; i < n; i++) {
        b->units[i] = (struct topo_unit_spec){ .name = (const char *[]){ "a", "b", "c", "d", "e",
                                                                         "f", "g", "h" }[i],
                                               .nodes = b->nodes + at,
                                               .nnodes = counts[i] };
        for (uint32_t k = 0; k < counts[i]; k++, at++)
            b->nodes[at] = at;
    }
    b->spec = (struct topo_spec){ .name = "t",
                                  .kind = TOPO_BLOCK,
                                  .units = b->units,
                                  .nunits = n,
                                  .block_sizes = sizes,
                                  .nblock_sizes = nsizes };
    assert_int_equal(topo_new(&b->spec, &t, NULL), 0);
    return t;
}

/* Four blocks of 4, aggregates of 8 and 16. */
static void test_by_hand(void **state)
{
    static const uint32_t counts[] = { 4, 4, 4, 4 }, sizes[] = { 4, 8, 16 };
    struct blocks b;
    struct topo *t = blocks_of(&b, counts, 4, sizes, 3);
    struct topofrag *f;

    (void)state;
    assert_int_equal(topofrag_new(t, &f), 0);
    assert_int_equal(topofrag_score(f), 0);
    topofrag_set(f, 5, false); /* one node of the second block */
    assert_int_equal(topofrag_score(f), 1 + 4 + 8 + 16);
    assert_int_equal(topofrag_of_unit(f, 1), 5);
    assert_int_equal(topofrag_of_unit(f, 0), 0);
    topofrag_set(f, 5, false); /* it is so already */
    topofrag_set(f, 0, false); /* the same pair */
    assert_int_equal(topofrag_score(f), 2 + 4 + 4 + 8 + 16);
    topofrag_set(f, 15, false); /* the other pair */
    assert_int_equal(topofrag_score(f), 3 + 4 + 4 + 4 + 8 + 8 + 16);
    assert_int_equal(topofrag_free_nodes(f, 3), 3);
    for (uint32_t n = 0; n < 16; n++)
        topofrag_set(f, n, true);
    assert_int_equal(topofrag_score(f), 0);
    topofrag_set(f, 1000, false); /* in no block */
    assert_int_equal(topofrag_score(f), 0);
    topofrag_free(f);
    topo_free(t);
}

/* Spare nodes: blocks of 5 planned as 4; a gap; an aggregate that is incomplete does not count. */
static void test_spares(void **state)
{
    static const uint32_t counts[] = { 5, 0, 5 }, sizes[] = { 4, 8 };
    struct blocks b;
    struct topo *t = blocks_of(&b, counts, 3, sizes, 2);
    struct topofrag *f;

    (void)state;
    assert_int_equal(topofrag_new(t, &f), 0);
    assert_int_equal(topofrag_score(f), 4 + 8); /* the gap */
    topofrag_set(f, 0, false);
    assert_int_equal(topofrag_score(f), 4 + 8 + 1); /* four are left */
    topofrag_set(f, 1, false);
    assert_int_equal(topofrag_score(f), 4 + 8 + 2 + 4);
    topofrag_set(f, 5, false);
    topofrag_set(f, 6, false);
    assert_int_equal(topofrag_score(f), 4 + 8 + 4 + 4 + 4);
    topofrag_free(f);
    topo_free(t);
}

static uint64_t counted_anew(const uint32_t *counts, size_t n, const uint32_t *sizes, size_t nsizes,
                             const bool *busy)
{
    uint64_t score = 0;
    bool had[MOST];
    uint32_t at = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t left = 0;

        for (uint32_t k = 0; k < counts[i]; k++, at++) {
            left += !busy[at];
            score += busy[at];
        }
        had[i] = left >= sizes[0];
    }
    for (size_t s = 0; s < nsizes; s++) {
        size_t each = sizes[s] / sizes[0];

        for (size_t first = 0; first + each <= n; first += each) {
            bool whole = true;

            for (size_t i = first; i < first + each; i++)
                whole = whole && had[i];
            score += whole ? 0 : sizes[s];
        }
    }
    return score;
}

static void test_random(void **state)
{
    static const uint32_t counts[] = { 3, 4, 2, 4, 5, 4, 0 }, sizes[] = { 3, 6, 12 };
    bool busy[22] = { false };
    struct blocks b;
    struct topo *t = blocks_of(&b, counts, 7, sizes, 3);
    struct topofrag *f;
    uint32_t seed = 1;

    (void)state;
    assert_int_equal(topofrag_new(t, &f), 0);
    for (int i = 0; i < 2000; i++) {
        uint32_t node = (seed = seed * 1664525 + 1013904223) >> 8;

        node %= 22;
        busy[node] = seed >> 31;
        topofrag_set(f, node, !busy[node]);
        assert_int_equal(topofrag_score(f), counted_anew(counts, 7, sizes, 3, busy));
    }
    topofrag_free(f);
    topo_free(t);
}

static void test_flat(void **state)
{
    const struct topo_spec spec = { .name = "flat", .kind = TOPO_FLAT };
    struct topofrag *f;
    struct topo *t;

    (void)state;
    assert_int_equal(topo_new(&spec, &t, NULL), 0);
    assert_int_equal(topofrag_new(t, &f), 0);
    topofrag_set(f, 0, false);
    assert_int_equal(topofrag_score(f), 0);
    topofrag_free(f);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_spares),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_flat),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
