/* test_topochoose.c - the search that leaves poor or badly lying nodes out, weights, dragonflies
 *
 * A case is a topology of units of equal size whose nodes follow each other, what each node weighs
 * and holds, and the nodes that the job gets in the order of choice, or why it gets none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/topo/topo.h"
#include "sched/topo/topochoose.h"
#include "sched/topo/topokind.h"

#define NODES 16u
#define UNITS 9u

struct tcase {
    const char *name;
    enum topo_kind kind;
    uint32_t nodes, unit; /* of each unit with nodes */
    uint32_t sizes[3];    /* block */
    unsigned flags;
    bool top;            /* tree: a switch above all leaves */
    const char *weights; /* a digit a node; NULL: all alike */
    const char *caps[2]; /* what it holds of each quantity, likewise */
    uint32_t need[2];
    const char *taken; /* 'x': not a candidate */
    uint32_t min, max, want, segment;
    uint32_t req[2], nreq;
    const char *result; /* "0,2", or the reason */
};

static const struct tcase cases[] = {
    { "the first nodes hold too little", TOPO_TREE, 4, 4, .caps = { "1144" }, .need = { 8 },
      .min = 2, .max = 2, .result = "2,3" },
    { "no nodes hold so much", TOPO_TREE, 4, 4, .caps = { "1144" }, .need = { 9 }, .min = 2,
      .max = 2, .result = "node limit" },
    { "a required node stays", TOPO_TREE, 4, 4, .caps = { "1144" }, .need = { 5 }, .min = 2,
      .max = 2, .req = { 0 }, .nreq = 1, .result = "0,2" },
    { "a required node stays and is too poor", TOPO_TREE, 4, 4, .caps = { "1144" }, .need = { 6 },
      .min = 2, .max = 2, .req = { 0 }, .nreq = 1, .result = "node limit" },
    { "two quantities", TOPO_TREE, 4, 4, .caps = { "1921", "1119" }, .need = { 10, 10 }, .min = 2,
      .max = 2, .result = "1,3" },
    { "as many nodes as it takes", TOPO_TREE, 4, 4, .caps = { "1111" }, .need = { 3 }, .min = 1,
      .max = 4, .result = "0,1,2" },
    { "a block", TOPO_BLOCK, 8, 4, .sizes = { 4, 8 }, .caps = { "44441111" }, .need = { 8 },
      .min = 2, .max = 2, .result = "0,1" },
    { "poor nodes of a block", TOPO_BLOCK, 4, 4, .sizes = { 4 }, .caps = { "1414" }, .need = { 8 },
      .min = 2, .max = 2, .result = "1,3" },
    { "in no block", TOPO_BLOCK, 8, 4, .sizes = { 4 }, .caps = { "14111411" }, .need = { 8 },
      .min = 2, .max = 2, .result = "few" },
    { "a ring takes what holds enough", TOPO_RING, 8, 8, .caps = { "11144111" }, .need = { 8 },
      .min = 2, .max = 2, .result = "3,4" },
    /* weights */
    { "lighter nodes of a leaf", TOPO_TREE, 4, 4, .weights = "3122", .min = 2, .max = 2,
      .result = "1,2" },
    { "lighter nodes of two leaves", TOPO_TREE, 4, 2, .top = true, .weights = "1911", .min = 3,
      .max = 3, .result = "2,3,0" },
    { "the lightest first, then of the next weight what lies near", TOPO_TREE, 6, 2, .top = true,
      .weights = "921212", .min = 4, .max = 4, .result = "2,4,3,5" },
    { "lighter nodes of blocks", TOPO_BLOCK, 8, 4, .sizes = { 4, 8 }, .weights = "22221111",
      .min = 2, .max = 2, .result = "4,5" },
    { "light nodes lie too far apart", TOPO_BLOCK, 8, 2, .sizes = { 2, 8 }, .weights = "12121212",
      .min = 3, .max = 3, .result = "4,6,5" },
    { "so do those that are all to be taken", TOPO_BLOCK, 8, 2, .sizes = { 2, 8 },
      .weights = "12121222", .min = 4, .max = 4, .result = "2,4,3,5" },
    { "so do light nodes, and there are no others", TOPO_BLOCK, 8, 2, .sizes = { 2, 8 },
      .weights = "11111111", .taken = ".x.x.x.x", .min = 3, .max = 3, .result = "no unit" },
    /* dragonfly */
    { "a leaf holds all", TOPO_TREE, 8, 4, .top = true, .flags = TOPO_DRAGONFLY,
      .taken = "x.......", .min = 4, .max = 4, .result = "4,5,6,7" },
    { "a node of each leaf, over and over", TOPO_TREE, 6, 2, .top = true, .flags = TOPO_DRAGONFLY,
      .min = 4, .max = 4, .result = "0,2,4,1" },
    { "a leaf without free nodes is passed over", TOPO_TREE, 6, 2, .top = true,
      .flags = TOPO_DRAGONFLY, .taken = "..xx..", .min = 3, .max = 3, .result = "0,4,1" },
    { "more than there are", TOPO_TREE, 6, 2, .top = true, .flags = TOPO_DRAGONFLY,
      .taken = "..xx..", .min = 5, .max = 5, .result = "few" },
};

static const char *reason_of(enum topo_why why)
{
    switch (why) {
    case TOPO_WHY_NODE_LIMIT:
        return "node limit";
    case TOPO_WHY_FEW_RESOURCES:
        return "few";
    case TOPO_WHY_WEIGHTS:
        return "weights";
    case TOPO_WHY_NEVER:
        return "never";
    case TOPO_WHY_NO_UNIT:
        return "no unit";
    default:
        return "other";
    }
}

static struct topo *make_topo(const struct tcase *c)
{
    static const uint32_t ids[NODES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    static const uint32_t leaves[UNITS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    struct topo_unit_spec units[UNITS] = { 0 };
    struct topo_spec spec = { .name = "t",
                              .kind = c->kind,
                              .flags = c->flags,
                              .units = units,
                              .nunits = c->nodes / c->unit,
                              .block_sizes = c->sizes };
    struct topo *t = NULL;

    for (uint32_t i = 0; i < spec.nunits; i++)
        units[i] = (struct topo_unit_spec){ .name = "u",
                                            .nodes = ids + (size_t)i * c->unit,
                                            .nnodes = c->unit };
    while (spec.nblock_sizes < 3 && c->sizes[spec.nblock_sizes])
        spec.nblock_sizes++;
    if (c->top) {
        units[spec.nunits] =
            (struct topo_unit_spec){ .name = "top", .children = leaves, .nchildren = spec.nunits };
        spec.nunits++;
    }
    assert_int_equal(topo_new(&spec, &t, NULL), 0);
    return t;
}

static void run_case(const struct tcase *c)
{
    _cleanup_val_(strbuf_done) struct strbuf got = STRBUF_INIT;
    _cleanup_val_(topo_space_done) struct topo_space sp = { 0 };
    _cleanup_(topo_free) struct topo *t = make_topo(c);
    uint32_t weights[NODES] = { 0 }, caps[NODES * 2] = { 0 };
    uint64_t cand = 0;
    struct topo_ask a = { .topo = t,
                          .cand = &cand,
                          .nwords = 1,
                          .req = c->req,
                          .nreq = c->nreq,
                          .min = c->min,
                          .max = c->max,
                          .want = c->want ? c->want : c->min,
                          .segment = c->segment };
    int r;

    while (a.ncaps < 2 && c->caps[a.ncaps])
        a.ncaps++;
    for (uint32_t i = 0; i < c->nodes; i++) {
        cand |= c->taken && c->taken[i] == 'x' ? 0 : UINT64_C(1) << i;
        weights[i] = c->weights ? (uint32_t)(c->weights[i] - '0') : 0;
        for (uint32_t k = 0; k < a.ncaps; k++)
            caps[i * a.ncaps + k] = (uint32_t)(c->caps[k][i] - '0');
    }
    for (uint32_t k = 0; k < a.ncaps; k++)
        a.need[k] = c->need[k];
    a.weight = c->weights ? weights : NULL;
    a.caps = a.ncaps ? caps : NULL;
    r = topo_choose(&a, &sp);
    assert_in_range(r, 0, 1);
    for (uint32_t i = 0; r == 1 && i < sp.nchosen; i++)
        strbuf_addf(&got, "%s%u", i ? "," : "", sp.chosen[i]);
    if (r == 0)
        strbuf_add(&got, reason_of(sp.why));
    if (strcmp(strbuf_str(&got), c->result) != 0)
        print_message("%s: %s, not %s\n", c->name, strbuf_str(&got), c->result);
    assert_string_equal(strbuf_str(&got), c->result);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        run_case(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
