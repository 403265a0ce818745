/* test_alloc.c - copies of allocations, and which are the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)

#include "limits_util.h"
#include "sched/state/alloc.h"

/* Nodes 7 and 3, of which 3 has two devices of a type. */
struct sample {
    uint64_t cpus[2][2], devices[1];
    struct sched_alloc_gres gres[2];
    struct sched_alloc_node nodes[2];
    struct sched_alloc a;
    char name[8], type[8];
};

static void fill_sample(struct sample *m)
{
    *m = (struct sample){
        .cpus = { { 0xf0, 1 }, { 0x3, 0 } }, .devices = { 0x6 }, .name = "gpu", .type = "a100"
    };
    m->gres[0] = (struct sched_alloc_gres){
        .name = m->name, .type = m->type, .count = 2, .devices = m->devices, .ndevice_words = 1
    };
    m->gres[1] = (struct sched_alloc_gres){ .name = "craynet", .count = 5 };
    m->nodes[0] = (struct sched_alloc_node){
        .node_id = 7, .cpus = 5, .cpu_bits = m->cpus[0], .ncpu_words = 2, .mem_mib = 100, .tasks = 5
    };
    m->nodes[1] = (struct sched_alloc_node){ .node_id = 3,
                                             .cpus = 2,
                                             .cpu_bits = m->cpus[1],
                                             .ncpu_words = 1,
                                             .mem_mib = 200,
                                             .tasks = 2,
                                             .gres = m->gres,
                                             .ngres = 2 };
    m->a = (struct sched_alloc){ .nodes = m->nodes, .nnodes = 2 };
}

/* A copy stands by itself, with its nodes in order. */
static void test_copy(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_alloc copy;
    struct sample m;

    (void)state;
    fill_sample(&m);
    assert_int_equal(alloc_dup(s, &m.a, &copy), 0);
    memset(&m, 0xff, sizeof(m)); /* nothing of it is borrowed */
    assert_int_equal(copy.nnodes, 2);
    assert_int_equal(copy.nodes[0].node_id, 3);
    assert_int_equal(copy.nodes[1].node_id, 7);
    assert_true(copy.nodes[1].cpu_bits[0] == 0xf0 && copy.nodes[1].cpu_bits[1] == 1);
    assert_int_equal(copy.nodes[1].ngres, 0);
    assert_int_equal(copy.nodes[0].ngres, 2);
    assert_string_equal(copy.nodes[0].gres[0].name, "gpu");
    assert_string_equal(copy.nodes[0].gres[0].type, "a100");
    assert_true(copy.nodes[0].gres[0].devices[0] == 0x6);
    assert_string_equal(copy.nodes[0].gres[1].name, "craynet");
    assert_null(copy.nodes[0].gres[1].type);
    assert_null(copy.nodes[0].gres[1].devices);
    assert_true(copy.nodes[0].gres[1].count == 5);
    alloc_done(&copy);
    assert_null(copy.nodes);
    assert_int_equal(copy.nnodes, 0);
    alloc_done(&copy);
    sched_free(s);
}

static void test_closed(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sched_alloc copy;
    struct sample m;

    (void)state;
    fill_sample(&m);
    assert_false(alloc_has_closed(&m.a));
    m.nodes[1].closed = true;
    assert_true(alloc_has_closed(&m.a));
    assert_int_equal(alloc_dup(s, &m.a, &copy), 0);
    assert_int_equal(copy.nnodes, 2);
    assert_true(alloc_has_closed(&copy));
    alloc_drop_closed(&copy);
    assert_int_equal(copy.nnodes, 1);
    assert_int_equal(copy.nodes[0].node_id, 7);
    alloc_done(&copy);
    assert_int_equal(alloc_dup_used(s, &m.a, &copy), 0);
    assert_int_equal(copy.nnodes, 1);
    assert_int_equal(copy.nodes[0].node_id, 7);
    alloc_done(&copy);
    sched_free(s);
}

/* Every field that says what a job holds counts; closed nodes on either side do not. */
static void test_equal(void **state)
{
    struct sched *s = limits_cluster(false);
    struct sample m, o;
    struct sched_alloc none = { 0 };

    (void)state;
#define DIFFER(change)                                                                             \
    (fill_sample(&o), change, assert_false(alloc_equal(&m.a, &o.a)),                               \
     assert_false(alloc_equal(&o.a, &m.a)))
    fill_sample(&m);
    fill_sample(&o);
    assert_true(alloc_equal(&m.a, &o.a));
    assert_true(alloc_equal(&none, &none));
    DIFFER(o.nodes[0].node_id = 8);
    DIFFER(o.nodes[0].cpus = 4);
    DIFFER(o.nodes[0].mem_mib = 101);
    DIFFER(o.cpus[0][1] = 2);
    DIFFER(o.nodes[0].ncpu_words = 1);
    DIFFER(o.nodes[1].ngres = 1);
    DIFFER(o.gres[0].count = 3);
    DIFFER(o.gres[0].type = NULL);
    DIFFER(o.devices[0] = 0x3);
    DIFFER(o.gres[0].devices = NULL);
    DIFFER(memcpy(o.name, "mps", 4));
    DIFFER(o.a.nnodes = 1);
    DIFFER(o.nodes[1].closed = true);
    fill_sample(&o);
    m.a.nnodes = 1; /* the second of the other is only closed */
    o.nodes[1].closed = true;
    assert_true(alloc_equal(&m.a, &o.a));
    assert_true(alloc_equal(&o.a, &m.a));
    o.nodes[0].closed = true;
    assert_true(alloc_equal(&none, &o.a));
    assert_true(alloc_equal(&o.a, &none));
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_equal),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
