/* test_allocrecord.c - what the scheduler laid out, as a record: equal neighbours are one group,
 * tasks, threads, devices, shares; its TRES as text */
#include "model_util.h"

#include "ctld/job/allocrecord.h"

#define NODES 4u

/* Nodes of 8 CPUs, two threads a core, two GPUs with four shards each. */
static struct cluster *make_world(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);

    for (uint32_t i = 0; i < NODES; i++) {
        char name[8];
        Pst__NodeRecord *r;

        (void)snprintf(name, sizeof(name), "n%u", i);
        r = put_node(tx, i, name, 8);
        SET(r, threads_per_core, 2);
        SET(r, cores_per_socket, 4);
        SET(r, sockets, 1);
        assert_int_equal(pb_set_str(&r->gres, "gpu:2,shard:8"), 0);
    }
    apply_ok(c, tx);
    return c;
}

static uint64_t four = 0xf, two = 0x3, second = 0x2;

static struct sched_alloc_node on_node(uint32_t id, uint32_t tasks)
{
    return (struct sched_alloc_node){
        .node_id = id, .cpus = 4, .cpu_bits = &four, .ncpu_words = 1, .mem_mib = 100, .tasks = tasks
    };
}

static void test_groups(void **state)
{
    struct sched_alloc_node on[] = { on_node(0, 2), on_node(1, 2), on_node(2, 2), on_node(3, 2) };
    struct sched_alloc a = { .nodes = on, .nnodes = NODES };
    struct cluster *c = make_world();
    Pst__Alloc *got;

    (void)state;
    on[2].cpus = 2;
    on[2].cpu_bits = &two;
    got = allocrecord_make(c, &a, 0, 0);
    assert_string_equal(got->nodes, "n[0-3]");
    assert_int_equal(got->total_cpus, 14);
    assert_int_equal(got->n_node_ids, NODES);
    assert_int_equal(got->node_ids[3], 3);
    assert_int_equal(got->n_groups, 3); /* the last is like the first, but no neighbour */
    assert_int_equal(got->groups[0]->nodes, 2);
    assert_string_equal(got->groups[0]->cpu_ids, "0-3");
    assert_int_equal(got->groups[0]->tasks, 2);
    assert_false(got->groups[0]->has_task_cpus);
    assert_string_equal(got->groups[1]->cpu_ids, "0-1");
    pst__alloc__free_unpacked(got, NULL);
    got = allocrecord_make(c, &a, 1, 0); /* --threads-per-core=1: tasks use one of each core */
    assert_int_equal(got->groups[0]->task_cpus, 2);
    assert_int_equal(got->groups[1]->task_cpus, 1);
    pst__alloc__free_unpacked(got, NULL);
    got = allocrecord_make(c, &a, 2, 0);
    assert_false(got->groups[0]->has_task_cpus); /* all of them */
    pst__alloc__free_unpacked(got, NULL);
    cluster_free(c);
}

/* A job of five tasks on nodes that were laid out for more. */
static void test_fewer_tasks(void **state)
{
    static const struct {
        uint32_t most, tasks[NODES];
    } cases[] = {
        { 0, { 3, 3, 3, 3 } }, { 12, { 3, 3, 3, 3 } }, { 5, { 2, 1, 1, 1 } },
        { 7, { 3, 2, 1, 1 } }, { 4, { 1, 1, 1, 1 } },  { 2, { 1, 1, 1, 1 } }, /* one on each */
    };
    struct sched_alloc_node on[] = { on_node(0, 3), on_node(1, 3), on_node(2, 3), on_node(3, 3) };
    struct sched_alloc a = { .nodes = on, .nnodes = NODES };
    struct cluster *c = make_world();

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__Alloc *got = allocrecord_make(c, &a, 0, cases[i].most);

        for (uint32_t k = 0; k < NODES; k++)
            if (alloc_group(got, k)->tasks != cases[i].tasks[k])
                fail_msg("row %zu, node %u: %u", i, k, alloc_group(got, k)->tasks);
        pst__alloc__free_unpacked(got, NULL);
    }
    cluster_free(c);
}

static void test_devices(void **state)
{
    struct sched_alloc_gres gres[] = {
        { .name = "gpu", .type = "a100", .count = 1, .devices = &second, .ndevice_words = 1 },
        { .name = "port", .count = 3 },
    };
    struct sched_alloc_node on[] = { on_node(0, 1), on_node(1, 1) };
    struct sched_alloc a = { .nodes = on, .nnodes = 2 };
    struct cluster *c = make_world();
    Pst__Alloc *got;
    char *text;

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        on[i].gres = gres;
        on[i].ngres = 2;
    }
    got = allocrecord_make(c, &a, 0, 0);
    assert_int_equal(got->n_groups, 1);
    assert_int_equal(got->groups[0]->n_gres, 2);
    assert_string_equal(got->groups[0]->gres[0]->name, "gpu");
    assert_string_equal(got->groups[0]->gres[0]->type, "a100");
    assert_string_equal(got->groups[0]->gres[0]->devices, "1");
    assert_null(got->groups[0]->gres[1]->devices);
    assert_int_equal(got->groups[0]->gres[1]->count, 3);
    text = alloc_tres_text(got, "matlab:2", 8, NULL);
    assert_string_equal(text, "cpu=8,mem=200M,node=2,billing=8");
    free(text);
    text = alloc_tres_text(got, "matlab:2", 8,
                           "license/matlab,gres/port,gres/gpu:a100,gres/gpu,gres/gpu:v100");
    assert_string_equal(text, "cpu=8,mem=200M,node=2,billing=8,gres/gpu=2,gres/gpu:a100=2,"
                              "gres/port=6,license/matlab=2");
    free(text);
    text = alloc_step_tres(got, "gres/gpu,license/matlab");
    assert_string_equal(text, "cpu=8,gres/gpu=2,mem=200M,node=2");
    free(text);
    pst__alloc__free_unpacked(got, NULL);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_fewer_tasks),
        cmocka_unit_test(test_devices),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
