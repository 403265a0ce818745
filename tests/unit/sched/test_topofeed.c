/* test_topofeed.c - topologies as the scheduler gets them, and which one a partition uses */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/sched.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/state/topos.h"
#include "sched/topo/topo.h"

/* The scheduler keeps a set of its own; a set that is wrong leaves the old one. */
static void test_feeds_scheduler(void **state)
{
    static const uint32_t low[] = { 0, 1, 2, 3 };
    static const struct topo_unit_spec units[] = { { .name = "b1", .nodes = low, .nnodes = 4 } };
    struct topo_spec a = { .name = "a", .kind = TOPO_BLOCK, .units = units, .nunits = 1 };
    struct topo_spec b = { .name = "b", .kind = TOPO_FLAT };
    const struct topo_spec *const both[] = { &a, &b }, *const twice[] = { &a, &a };
    struct sched_params params = { .select = SCHED_SELECT_CORE };
    struct sched_partition part = { .name = "p", .node_ids = low, .nnodes = 4, .topology = "b" };
    struct sched *s;

    (void)state;
    assert_int_equal(sched_new(&params, &s), 0);
    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_int_equal(sched_topologies_put(s, both, 2), 0);
    assert_null(s->parts[0]->topo); /* flat */
    part.topology = "elsewhere";
    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_string_equal(topo_get_spec(s->parts[0]->topo)->name, "a");
    assert_int_equal(sched_topologies_put(s, twice, 2), -EINVAL);
    assert_string_equal(topo_get_spec(s->parts[0]->topo)->name, "a");
    assert_int_equal(sched_topologies_put(s, NULL, 0), 0);
    assert_null(s->parts[0]->topo);
    topo_of_part(s, s->parts[0]);
    assert_null(s->parts[0]->topo);
    sched_free(s);
}

/* Two blocks of two: free nodes are up, and hold no job. */
static void test_scores_blocks(void **state)
{
    static const uint32_t ids[] = { 0, 1, 2, 3 };
    static const struct topo_unit_spec units[] = {
        { .name = "b1", .nodes = ids, .nnodes = 2 }, { .name = "b2", .nodes = ids + 2, .nnodes = 2 }
    };
    static const uint32_t sizes[] = { 2, 4 };
    const struct topo_spec blocks = { .name = "b",
                                      .kind = TOPO_BLOCK,
                                      .units = units,
                                      .nunits = 2,
                                      .block_sizes = sizes,
                                      .nblock_sizes = 2 };
    const struct topo_spec flat = { .name = "f", .kind = TOPO_FLAT };
    const struct topo_spec *const one[] = { &blocks }, *const none[] = { &flat };
    const struct sched_params params = { .select = SCHED_SELECT_CORE };
    struct sched_node node = {
        .cpus = 1, .sockets = 1, .cores_per_socket = 1, .threads_per_core = 1, .schedulable = true
    };
    uint64_t cpu = 1;
    struct sched_alloc_node on = { .node_id = 3, .cpus = 1, .cpu_bits = &cpu, .ncpu_words = 1 };
    const struct sched_alloc alloc = { .nodes = &on, .nnodes = 1 };
    struct sched_partition part = { .name = "p", .node_ids = ids, .nnodes = 4, .up = true };
    struct sched_blocks b;
    struct sched *s;

    (void)state;
    assert_int_equal(sched_new(&params, &s), 0);
    assert_false(sched_blocks(s, &b));
    for (node.id = 0; node.id < 4; node.id++) {
        node.name = (const char *[]){ "n0", "n1", "n2", "n3" }[node.id];
        assert_int_equal(sched_node_put(s, &node), 0);
    }
    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_int_equal(sched_topologies_put(s, one, 1), 0);
    assert_true(sched_blocks(s, &b));
    assert_true(b.score == 0 && b.blocks == 2 && b.whole == 2);
    assert_int_equal(sched_job_running(s, 1, "p", &alloc, 1, 2, false), 0);
    assert_true(sched_blocks(s, &b));
    assert_true(b.score == 1 + 2 + 4 && b.whole == 1);
    node = (struct sched_node){
        .id = 0, .name = "n0", .cpus = 1, .sockets = 1, .cores_per_socket = 1, .threads_per_core = 1
    }; /* down */
    assert_int_equal(sched_node_put(s, &node), 0);
    assert_true(sched_blocks(s, &b));
    assert_true(b.score == 2 + 2 + 2 + 4 && b.whole == 0);
    assert_int_equal(sched_topologies_put(s, none, 1), 0);
    assert_false(sched_blocks(s, &b));
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feeds_scheduler),
        cmocka_unit_test(test_scores_blocks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
