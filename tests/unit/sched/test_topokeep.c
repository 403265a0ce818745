/* test_topokeep.c - room for segments is kept: what is lost, which block gives a node, and jobs of
 * a part of a node go where others are already
 *
 * Three blocks of 6 nodes: 0-5, 6-11, 12-17. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/select/pickkeep.h"
#include "sched/topo/topo.h"
#include "sched/topo/topokeep.h"

#define NODES 18u
#define BLOCK 6u

static uint32_t ids[NODES], sizes[] = { BLOCK };
static struct topo_unit_spec units[NODES / BLOCK];

static struct topo_spec describe(void)
{
    for (uint32_t i = 0; i < NODES; i++)
        ids[i] = i;
    for (uint32_t i = 0; i < NODES / BLOCK; i++)
        units[i] =
            (struct topo_unit_spec){ .name = "b", .nodes = ids + i * BLOCK, .nnodes = BLOCK };
    return (struct topo_spec){ .kind = TOPO_BLOCK,
                               .name = "t",
                               .units = units,
                               .nunits = NODES / BLOCK,
                               .block_sizes = sizes,
                               .nblock_sizes = 1 };
}

static void test_lost(void **state)
{
    static const struct {
        uint32_t free, nodes, keep, lost;
    } cases[] = {
        { 18, 2, 16, 0 },  { 17, 2, 16, 1 }, { 15, 2, 16, 0 }, { 18, 3, 16, 1 }, { 32, 16, 16, 1 },
        { 32, 17, 16, 2 }, { 5, 9, 4, 1 },   { 18, 18, 0, 0 }, { 0, 1, 16, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(topokeep_lost(cases[i].free, cases[i].nodes, cases[i].keep),
                         cases[i].lost);
}

static void test_unit(void **state)
{
    static const struct {
        uint64_t free;
        uint32_t keep, unit;
    } cases[] = {
        { 0x3ffff, 4, 0 },         /* all alike: the first */
        { 0x3fff0, 4, 0 },         /* two left over */
        { 0x3fffc, 4, 1 },         /* four in the first would be one segment less */
        { 0x3fffc, 0, 0 },         /* the fullest */
        { 0x3f000, 4, 2 },         /* the only one */
        { 0x3fffe, 600, 0 },       /* whole blocks: that one is broken */
        { 0, 4, TOPO_NONE },       /* no node */
        { 0xc0000, 4, TOPO_NONE }, /* none in a block */
    };
    struct topo_spec spec = describe();
    struct topo *t;

    (void)state;
    assert_int_equal(topo_new(&spec, &t, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(topokeep_unit(t, &cases[i].free, 1, cases[i].keep), cases[i].unit);
    topo_free(t);
}

static struct sched *make_cluster(uint32_t keep, bool lln)
{
    struct sched_params params = { .select = SCHED_SELECT_CORE, .keep_segments = keep, .lln = lln };
    struct sched_partition part = { .name = "debug",
                                    .node_ids = ids,
                                    .nnodes = NODES,
                                    .up = true,
                                    .max_time_min = SCHED_UNLIMITED,
                                    .max_nodes = SCHED_UNLIMITED };
    struct topo_spec spec = describe();
    const struct topo_spec *const set[] = { &spec };
    struct sched *s;

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        struct sched_node node = { .id = i,
                                   .cpus = 4,
                                   .sockets = 1,
                                   .cores_per_socket = 4,
                                   .threads_per_core = 1,
                                   .mem_mib = 8000,
                                   .weight = 1,
                                   .schedulable = true };

        assert_int_equal(sched_node_put(s, &node), 0);
    }
    assert_int_equal(sched_topologies_put(s, set, 1), 0);
    assert_int_equal(sched_partition_put(s, &part), 0);
    return s;
}

/* The node that a job of so many CPUs is started on; with `any` it might have several nodes, as
 * sbatch without -N and -n asks. */
static uint32_t start_job(struct sched *s, uint32_t id, uint32_t cpus, bool any)
{
    const char *parts[] = { "debug" };
    struct sched_job j = { .id = id,
                           .partitions = parts,
                           .npartitions = 1,
                           .time_limit_min = 10,
                           .min_nodes = 1,
                           .max_nodes = any ? 0 : 1,
                           .num_tasks = any ? 0 : 1,
                           .cpus_per_task = cpus };
    struct sched_decisions out = { 0 };
    uint32_t node = UINT32_MAX;
    int64_t wake_us;

    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(sched_pass(s, 1000000, &out, &wake_us), 0);
    for (size_t i = 0; i < out.n; i++) {
        if (out.items[i].kind != SCHED_START)
            continue;
        node = out.items[i].alloc.nodes[0].node_id;
        assert_int_equal(sched_job_running(s, id, "debug", &out.items[i].alloc, 0, 600000000, true),
                         0);
    }
    sched_decisions_done(&out);
    return node;
}

static void test_parts_of_nodes(void **state)
{
    (void)state;
    for (int any = 0; any < 2; any++) {
        struct sched *s = make_cluster(5, false);

        assert_int_equal(start_job(s, 1, 4, any), 0);  /* one more than a segment in each block */
        assert_int_equal(start_job(s, 2, 3, any), 6);  /* so the next block gives one, */
        assert_int_equal(start_job(s, 3, 4, any), 12); /* and the next */
        assert_int_equal(start_job(s, 4, 1, any), 6);  /* beside job 2 */
        assert_int_equal(start_job(s, 5, 2, any), 1);  /* now a segment has to go */
        assert_int_equal(start_job(s, 6, 4, any), 2);  /* and what is left of that one */
        assert_int_equal(start_job(s, 7, 1, any), 1);  /* beside job 5 */
        sched_free(s);
    }
}

static void test_others_decide(void **state)
{
    struct sched *s = make_cluster(0, false);

    (void)state;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(start_job(s, 1 + i, 4, false), i); /* the first, as Slurm does */
    sched_free(s);
    s = make_cluster(5, true);
    assert_int_equal(start_job(s, 1, 1, false), 0);
    assert_int_equal(start_job(s, 2, 1, false), 1); /* CR_LLN goes before */
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_parts_of_nodes),
        cmocka_unit_test(test_others_decide),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
