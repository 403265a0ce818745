/* test_nodeput.c - nodes as they are fed: put, changed, put again, removed under running jobs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/sched.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"

#define NOW INT64_C(1700000000000000)
#include "sched_inner.h"

static struct sched_node node(uint32_t id)
{
    return (struct sched_node){ .id = id,
                                .name = "n",
                                .cpus = 8,
                                .sockets = 1,
                                .cores_per_socket = 8,
                                .threads_per_core = 1,
                                .mem_mib = 4000,
                                .weight = 1,
                                .schedulable = true };
}

static struct sched *cluster(uint32_t nodes)
{
    return inner_cluster((struct sched_params){ 0 }, nodes, 8);
}

static void test_counts(void **state)
{
    struct sched *s = cluster(2);
    struct sched_node n = node(5);
    uint64_t gen;

    (void)state;
    assert_int_equal(s->count_nodes, 2);
    assert_int_equal(s->free_cpus, 16);
    n.cpus = n.cores_per_socket = 3;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nnodes, 6); /* ids 2 to 4 are of no node */
    assert_int_equal(s->count_nodes, 3);
    assert_int_equal(s->count_cpus, 19);
    assert_int_equal(s->free_cpus, 19);
    assert_true(bitmap_test(s->up, 5) && bitmap_test(s->idle, 5));
    gen = s->config_gen;
    assert_int_equal(sched_node_put(s, &n), 0); /* the same again is no change */
    assert_int_equal(s->config_gen, gen);
    assert_int_equal(s->count_nodes, 3);
    sched_node_remove(s, 5);
    sched_node_remove(s, 5);
    sched_node_remove(s, 77);
    assert_int_equal(s->count_nodes, 2);
    assert_int_equal(s->count_cpus, 16);
    assert_false(bitmap_test(s->up, 5) || bitmap_test(s->idle, 5));
    sched_free(s);
}

static void test_nonsense(void **state)
{
    const struct sched_gres_spec nameless = { .count = 1 },
                                 many = { .name = "gpu", .count = 4097, .indexed = true };
    static const struct sched_gres_share short_of[] = { { 0, 3 }, { 1, 3 } };
    const struct sched_gres_spec uneven = {
        .name = "shard", .count = 7, .indexed = true, .shares = short_of, .nshares = 2
    };
    struct sched *s = cluster(1);
    struct sched_node n = node(1);

    (void)state;
    n.cpus = 0;
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    n.cpus = 65537;
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    n = node(UINT32_MAX);
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    n = node(1);
    n.ngres = 1;
    n.gres = &nameless;
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    n.gres = &many;
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    n.gres = &uneven;
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    assert_int_equal(s->count_nodes, 1);
    sched_free(s);
}

/* Threads only where every thread is a CPU; numbers that do not agree make a flat row of CPUs. */
static void test_geometry(void **state)
{
    static const struct {
        uint32_t cpus, sockets, cores, threads, want_sockets, want_cores, want_threads;
    } rows[] = {
        { 16, 2, 4, 2, 2, 4, 2 }, { 8, 2, 4, 2, 2, 4, 1 },   { 7, 2, 4, 2, 1, 7, 1 },
        { 4, 0, 0, 0, 1, 4, 1 },  { 12, 2, 4, 1, 1, 12, 1 },
    };
    struct sched *s = cluster(1);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched_node n = node(1);

        n.cpus = rows[i].cpus;
        n.sockets = rows[i].sockets;
        n.cores_per_socket = rows[i].cores;
        n.threads_per_core = rows[i].threads;
        assert_int_equal(sched_node_put(s, &n), 0);
        assert_int_equal(s->nodes[1].sockets, rows[i].want_sockets);
        assert_int_equal(s->nodes[1].cores_per_socket, rows[i].want_cores);
        assert_int_equal(s->nodes[1].threads, rows[i].want_threads);
        assert_int_equal(s->nodes[1].units, rows[i].cpus / rows[i].want_threads);
    }
    sched_free(s);
}

/* CPUs kept from jobs: whole cores; a node of which nothing would be left keeps none. */
static void test_spec(void **state)
{
    const uint64_t one = 0x02, all = 0xff;
    struct sched *s = cluster(1);
    struct sched_node n = node(1);

    (void)state;
    n.cores_per_socket = 4;
    n.threads_per_core = 2;
    n.spec_bits = &one;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nodes[1].nspec, 2);
    assert_int_equal(*s->nodes[1].spec, 0x03);
    assert_int_equal(s->nodes[1].free_cpus, 6);
    n.spec_bits = &all;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nodes[1].nspec, 0);
    assert_int_equal(s->nodes[1].free_cpus, 8);
    n.spec_bits = NULL;
    n.gpu_bits = &one;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(*s->nodes[1].gpu_cpus, 0x03);
    sched_free(s);
}

static void test_features(void **state)
{
    struct sched *s = cluster(1);
    struct sched_node n = node(0);

    (void)state;
    n.features = "intel,,ssd";
    n.boot_features = "flat";
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_true(bitmap_test(feature_nodes(s, "intel", 5), 0));
    assert_true(bitmap_test(feature_nodes(s, "ssd", 3), 0));
    assert_true(!feature_nodes(s, "flat", 4) || !bitmap_test(feature_nodes(s, "flat", 4), 0));
    assert_true(bitmap_test(feature_boot_nodes(s, "flat", 4), 0)); /* after a boot */
    n.features = "amd";
    n.boot_features = NULL;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_false(bitmap_test(feature_nodes(s, "intel", 5), 0));
    assert_true(bitmap_test(feature_nodes(s, "amd", 3), 0));
    sched_free(s);
}

/* A node that is changed while jobs run on it takes back what they hold, and stays in its
 * partitions; likewise one that was away. */
static void test_under_jobs(void **state)
{
    uint64_t bits = 0x0f;
    struct sched_alloc_node an = { .cpus = 4, .cpu_bits = &bits, .ncpu_words = 1, .mem_mib = 500 };
    const struct sched_alloc a = { .nodes = &an, .nnodes = 1 };
    struct sched *s = cluster(1);
    struct sched_node n = node(0);
    struct part *low;

    (void)state;
    assert_int_equal(sched_job_running(s, 1, "low", &a, NOW, INT64_MAX, false), 0);
    n.features = "new";
    n.cpus = n.cores_per_socket = 12;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nodes[0].free_cpus, 8);
    assert_int_equal(s->nodes[0].mem_used, 500);
    assert_int_equal(s->nodes[0].njobs, 1);
    assert_false(bitmap_test(s->idle, 0));
    assert_int_equal(part_get(s, "low", &low), 0);
    assert_true(bitmap_test(low->nodes, 0));
    sched_node_remove(s, 0);
    assert_int_equal(s->free_cpus, 0);
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nodes[0].free_cpus, 8);
    sched_node_remove(s, 0);
    sched_job_remove(s, 1); /* its node is not there any more */
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nodes[0].free_cpus, 12);
    assert_int_equal(s->nodes[0].mem_used, 0);
    assert_int_equal(s->nodes[0].njobs, 0);
    sched_free(s);
}

static void test_weights(void **state)
{
    struct sched *s = cluster(3); /* of weight 1 */
    struct sched_node n = node(1);

    (void)state;
    n.weight = 0;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nwclasses, 2);
    assert_int_equal(s->wclasses[0].weight, 0); /* light ones first */
    assert_true(bitmap_test(s->wclasses[0].nodes, 1));
    assert_false(bitmap_test(s->wclasses[1].nodes, 1));
    n.weight = 1;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->nwclasses, 1); /* a class without nodes goes */
    assert_int_equal(bitmap_count(s->wclasses[0].nodes), 3);
    sched_free(s);
}

/* Down is no change of what the node is; extra alone changes nothing for jobs that do not ask. */
static void test_state(void **state)
{
    struct sched *s = cluster(1);
    struct sched_node n = node(0);
    uint64_t config = s->config_gen, up = s->up_gen, extra = s->extra_gen;

    (void)state;
    n.schedulable = false;
    n.awaited = true;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_false(bitmap_test(s->up, 0));
    assert_true(s->nodes[0].awaited);
    assert_int_equal(s->config_gen, config);
    assert_true(s->up_gen > up);
    n.schedulable = true;
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_false(s->nodes[0].awaited); /* it has called */
    n.extra = "{\"load\": 3}";
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->config_gen, config);
    assert_int_equal(s->extra_gen, extra + 1);
    assert_int_equal(sched_node_put(s, &n), 0);
    assert_int_equal(s->extra_gen, extra + 1);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_geometry), cmocka_unit_test(test_spec),
        cmocka_unit_test(test_features), cmocka_unit_test(test_under_jobs),
        cmocka_unit_test(test_weights),  cmocka_unit_test(test_state),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
