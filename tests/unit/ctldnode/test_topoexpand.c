/* test_topoexpand.c - functions in lists of nodes: feature{f}, node{list}, what is refused
 *
 * Units of topologies (block{b1}) are tried with a controller that has some:
 * tests/integration/sched/test_topology_show.py. */
#include "model_util.h"

#include "ctld/topology/topoexpand.h"

static struct cluster *make_world(void)
{
    static const char *const features[][2] = {
        { "gpu,ib", NULL }, { "gpu,fast", "gpu" }, { NULL, NULL }, { "ib", "" }, { "gpus", NULL },
    };
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    for (uint32_t i = 0; i < ARRAY_SIZE(features); i++) {
        char name[8];
        Pst__NodeRecord *r;

        (void)snprintf(name, sizeof(name), "n%u", i);
        r = put_node(tx, i, name, 4);
        assert_int_equal(pb_set_str(&r->features, features[i][0]), 0);
        assert_int_equal(pb_set_str(&r->active_features, features[i][1]), 0);
    }
    apply_ok(c, tx);
    return c;
}

static const struct row {
    const char *list, *want; /* NULL: refused */
} rows[] = {
    { "n1,n0", "n1,n0" }, /* no function: as it was written */
    { "", "" },
    { "n9", "n9" }, /* whether it is a node is asked later */
    { "feature{gpu}", "n[0-1]" },
    { "FEATURE{gpu}", "n[0-1]" },
    { "feature{fast}", "" }, /* n1 does not have it now */
    { "feature{ib},n[2-3]", "n[0,2-3]" },
    { "n4,feature{gpu}", "n[4,0-1]" }, /* in the order of the list */
    { "node{n[1-2]},feature{gpus}", "n[1-2,4]" },
    { ",,feature{gpus},", "n4" },
    { "features{gpu}", NULL },
    { "fea{gpu}", NULL },
    { "{gpu}", NULL },
    { "feature{}", NULL },
    { "feature{gpu", NULL },
    { "feature{gpu}x", NULL },
    { "node{n[1-}", NULL },
    { "n[1-,feature{gpu}", NULL },
    { "blockwith{n9}", NULL }, /* no such node */
    { "blockwith{n0}", NULL }, /* no topology has it */
    { "switch{s1}", NULL },
};

static void test_rows(void **state)
{
    struct ctld ctld = { .cluster = make_world() };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *got = NULL;
        int r = topology_expand(&ctld, rows[i].list, &got);

        if (r != (rows[i].want ? 0 : -EINVAL) || !got != !rows[i].want)
            fail_msg("row %zu: %d", i, r);
        if (got && strcmp(got, rows[i].want) != 0)
            fail_msg("row %zu: %s, not %s", i, got, rows[i].want);
    }
    cluster_free(ctld.cluster);
}

/* What is too long is refused before it costs memory. */
static void test_bounds(void **state)
{
    struct ctld ctld = { .cluster = make_world() };
    char *got = NULL;

    (void)state;
    assert_int_equal(topology_expand(&ctld, "node{x[1-900000],y[1-900000]}", &got), -E2BIG);
    assert_int_equal(topology_expand(&ctld, "feature{gpu},z[1-99999999]", &got), -E2BIG);
    assert_null(got);
    cluster_free(ctld.cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_bounds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
