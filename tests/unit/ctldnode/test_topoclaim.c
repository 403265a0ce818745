/* test_topoclaim.c - what becomes of the place of a node that registers and of one that is off
 *
 * Places that have to be looked for are tried with a controller that has a topology:
 * tests/integration/nodes/test_dynamic_outside.py, test_cloud_outside.py. */
#include "model_util.h"

#include "base/sametext.h"
#include "ctld/core/noderecord.h"
#include "ctld/topology/topoclaim.h"

static const uint32_t DYNAMIC = NODE_FLAG_BIT(DYNAMIC_NORM);
static const uint32_t CLOUDY = NODE_FLAG_BIT(CLOUD);

/* One node, n0. */
static struct cluster *make_world(uint32_t flags, const char *topology, const char *conf,
                                  const char *said, const char *reason)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);
    Pst__NodeRecord *r = put_node(tx, 0, "n0", 4);

    r->has_state_flags = true;
    r->state_flags = flags;
    assert_int_equal(pb_set_str(&r->topology, topology), 0);
    assert_int_equal(pb_set_str(&r->topology_config, conf), 0);
    assert_int_equal(pb_set_str(&r->topology_said, said), 0);
    assert_int_equal(pb_set_str(&r->reason, reason), 0);
    apply_ok(c, tx);
    return c;
}

static void is_text(const char *got, const char *want)
{
    if (!same_or_missing(got, want))
        fail_msg("%s, not %s", got ? got : "nothing", want ? want : "nothing");
}

#define TOLD "Failed to set topology 'default:x'"

static const struct registers {
    uint32_t flags;
    const char *topology, *conf, *said, *reason, *place;
    enum topoclaim_reason want;
    const char *topology_then, *said_then;
} registers[] = {
    /* neither dynamic nor of the cloud: its word does not count */
    { 0, "t:a", "t:a", NULL, TOLD, "t:b", TOPOCLAIM_AS_IS, "t:a", NULL },
    { 1, NULL, NULL, NULL, NULL, NULL, TOPOCLAIM_AS_IS, NULL, NULL },
    /* the same word again: an operator's later one stays */
    { 1, "t:b", NULL, "t:a", NULL, "t:a", TOPOCLAIM_AS_IS, "t:b", "t:a" },
    { 1, "t:a", NULL, "t:a", TOLD, "t:a", TOPOCLAIM_GOES, "t:a", "t:a" },
    { 1, "t:a", NULL, "t:a", "disk", "t:a", TOPOCLAIM_AS_IS, "t:a", "t:a" },
    /* it says nothing any more */
    { 1, "t:a", NULL, "t:a", NULL, NULL, TOPOCLAIM_AS_IS, NULL, NULL },
    { 1, "t:a", "", "t:a", NULL, NULL, TOPOCLAIM_AS_IS, NULL, NULL },
    { 2, "t:a", "t:c", "t:a", TOLD, NULL, TOPOCLAIM_GOES, "t:c", NULL },
    /* it never said anything: an operator did */
    { 2, "t:b", "t:c", NULL, NULL, NULL, TOPOCLAIM_AS_IS, "t:b", NULL },
};

static void test_registers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
        const struct registers *row = &registers[i];
        uint32_t flags = row->flags == 2 ? CLOUDY : row->flags ? DYNAMIC : 0;
        struct ctld ctld = { .cluster = make_world(flags, row->topology, row->conf, row->said,
                                                   row->reason) };
        const Pst__NodeRecord *old = ctld.cluster->nodes[0]->rec;
        Pst__Transaction *tx = tx_new(T0);
        Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_REGISTER, 0);

        assert_int_equal(topoclaim_register(&ctld, tx, old, row->place, set), row->want);
        apply_ok(ctld.cluster, tx);
        is_text(ctld.cluster->nodes[0]->rec->topology, row->topology_then);
        is_text(ctld.cluster->nodes[0]->rec->topology_said, row->said_then);
        cluster_free(ctld.cluster);
    }
}

static const struct off {
    const char *topology, *conf, *said, *then;
} offs[] = {
    { NULL, NULL, NULL, NULL },     { "t:a", NULL, "t:a", NULL },  { "t:a", "", "t:a", NULL },
    { "t:a", "t:c", "t:a", "t:c" }, { "t:c", "t:c", NULL, "t:c" }, { NULL, "t:c", NULL, "t:c" },
};

static void test_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
        struct cluster *c = make_world(CLOUDY, offs[i].topology, offs[i].conf, offs[i].said, NULL);
        Pst__Transaction *tx = tx_new(T0);
        Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_POWER, 0);

        topoclaim_powered_down(tx, c->nodes[0]->rec, set);
        apply_ok(c, tx);
        is_text(c->nodes[0]->rec->topology, offs[i].then);
        is_text(c->nodes[0]->rec->topology_said, NULL);
        cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_off),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
