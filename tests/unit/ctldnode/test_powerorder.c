/* test_powerorder.c - actions of power saving that nodes run: who is told */
#include "model_util.h"

#include "base/bitmap.h"
#include "conf_util.h"
#include "ctld/link/nodelink.h"
#include "ctld/node/powerorder.h"

#define LINES "SuspendProgram=there\nPowerAction=there Location=slurmd Program=/halt\n"

/* Nodes that are not connected: it is told, and nothing else happens. */
static void test_nobody_there(void **state)
{
    struct ctld ctld = { .conf = conf_with_lines(LINES), .cluster = new_cluster() };
    _cleanup_(bitmap_free) struct bitmap *nodes = NULL;

    (void)state;
    add_nodes(ctld.cluster, 4, 2);
    assert_int_equal(nodelinks_new(&ctld.links), 0);
    assert_int_equal(bitmap_new(ctld.cluster->nnodes + 1, &nodes), 0);
    bitmap_set(nodes, 1);
    powerorder_send(&ctld, "there", nodes, 1);
    powerorder_again(&ctld, ctld.cluster->nodes[1], NULL); /* it is not on its way down */
    ctld.links = nodelinks_free(ctld.links);
    cluster_free(ctld.cluster);
    conf_free(ctld.conf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_nobody_there) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
