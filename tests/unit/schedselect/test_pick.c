/* test_pick.c - which nodes a job gets, what it gets there, and why it gets none */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "sched/rules/advtime.h"
#include "sched/select/advwhy.h"
#include "sched/select/joblayout.h"
#include "sched/select/nodeview.h"
#include "sched/select/pick.h"
#include "sched/select/pickmany.h"
#include "sched/select/pickone.h"
#include "sched/state/alloc.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define CPUS 8u
#include "sched_inner.h"

static struct sched *cluster(uint32_t nodes)
{
    return inner_cluster((struct sched_params){ .select = SCHED_SELECT_CORE }, nodes, CPUS);
}

static struct pick pick_for(struct sched *s, struct sched_job j)
{
    const struct entry *e = inner_put(s, j)->entries[0];

    return (struct pick){ .s = s, .cls = e->cls, .part = s->parts[e->part] };
}

/* The nodes that the job gets as a number in base 16: 0x21 = nodes 1 and 0; UINT64_MAX none. */
static uint64_t nodes_of(struct sched *s, struct sched_job j)
{
    struct pick p = pick_for(s, j);
    uint64_t bits = 0;
    int r = pick_nodes(&p);

    for (uint32_t i = 0; r == 1 && i < s->chosen.n; i++) {
        assert_true(i == 0 || s->chosen.v[i - 1].id < s->chosen.v[i].id);
        bits |= UINT64_C(1) << s->chosen.v[i].id;
    }
    sched_job_remove(s, j.id);
    assert_int_equal(r, bits != 0);
    return bits;
}

static struct sched_job wide(uint32_t min, uint32_t max, uint32_t tasks)
{
    struct sched_job j = inner_job(1, LOW, tasks);

    j.min_nodes = min;
    j.max_nodes = max;
    return j;
}

static void set_weight(struct sched *s, uint32_t id, uint32_t weight)
{
    const struct sched_node n = { .id = id,
                                  .name = "n",
                                  .cpus = CPUS,
                                  .sockets = 1,
                                  .cores_per_socket = CPUS,
                                  .threads_per_core = 1,
                                  .mem_mib = 4000,
                                  .weight = weight,
                                  .schedulable = true };

    assert_int_equal(sched_node_put(s, &n), 0);
}

/* ---- one node -------------------------------------------------------------------------------- */

static void test_first_fit(void **state)
{
    struct sched *s = cluster(4);

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0x7f, 0, 60);
    (void)inner_run(s, 101, LOW, 1, 0x0f, 0, 60);
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 1)), 1);
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 2)), 2);
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 5)), 4);
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 9)), 0);
    set_weight(s, 3, 0); /* light nodes first */
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 1)), 8);
    sched_free(s);
}

/* LLN: the node with most free CPUs; pack_serial_at_end: the last one for jobs of one CPU. */
static void test_other_orders(void **state)
{
    struct sched *s = cluster(4);

    (void)state;
    for (uint32_t id = 0; id < 4; id++)
        (void)inner_run(s, 100 + id, LOW, id, id == 2 ? 0x01 : 0x0f, 0, 60);
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 1)), 1);
    s->params.lln = true;
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 1)), 4);
    s->params.lln = false;
    s->params.serial_last = true;
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 1)), 8);
    assert_int_equal(nodes_of(s, inner_job(1, LOW, 2)), 1);
    sched_free(s);
}

/* Nodes found too full are passed over until something comes free, and looked at again then. */
static void test_cursor(void **state)
{
    struct sched *s = cluster(3);
    struct pick p;

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0xff, 0, 60);
    (void)inner_run(s, 101, LOW, 1, 0xff, 0, 60);
    p = pick_for(s, inner_job(1, LOW, 8));
    assert_int_equal(pick_nodes(&p), 1);
    assert_int_equal(s->chosen.v[0].id, 2);
    assert_int_equal(p.cls->cursor_id, 2);
    sched_job_remove(s, 100);
    assert_int_equal(pick_nodes(&p), 1);
    assert_int_equal(s->chosen.v[0].id, 0);
    sched_free(s);
}

/* ---- several nodes --------------------------------------------------------------------------- */

/* The smallest run of adjacent nodes that is enough; else the largest and on. */
static void test_runs(void **state)
{
    struct sched *s = cluster(10);

    (void)state;
    (void)inner_run(s, 100, LOW, 3, 0xff, 0, 60); /* runs: 0-2, 4-5, 7-9 */
    (void)inner_run(s, 101, LOW, 6, 0xff, 0, 60);
    assert_int_equal(nodes_of(s, wide(2, 2, 16)), 0x30);
    assert_int_equal(nodes_of(s, wide(3, 3, 24)), 0x07);
    assert_int_equal(nodes_of(s, wide(4, 4, 32)),
                     0x17); /* the largest, and one of the smallest that is enough */
    assert_int_equal(nodes_of(s, wide(9, 9, 9)), 0);
    sched_free(s);
}

/* Where the limit on nodes binds those that hold most are taken. */
static void test_most(void **state)
{
    struct sched *s = cluster(4);

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0x7f, 0, 60); /* one CPU is free, 8, 5 and 8 */
    (void)inner_run(s, 101, LOW, 2, 0x07, 0, 60);
    assert_int_equal(nodes_of(s, wide(1, 2, 16)), 0x0a);
    assert_int_equal(nodes_of(s, wide(1, 2, 17)), 0);
    assert_int_equal(nodes_of(s, wide(1, 3, 21)), 0x0e);
    assert_int_equal(nodes_of(s, wide(1, 4, 22)), 0x0f);
    sched_free(s);
}

static void test_contiguous(void **state)
{
    const uint32_t last[] = { 8 };
    struct sched *s = cluster(10);
    struct sched_job j = wide(3, 3, 3);

    (void)state;
    (void)inner_run(s, 100, LOW, 1, 0xff, 0, 60);
    (void)inner_run(s, 101, LOW, 4, 0xff, 0, 60); /* runs: 0, 2-3, 5-9 */
    j.contiguous = true;
    assert_int_equal(nodes_of(s, j), 0xe0);
    j.req_nodes = last;
    j.nreq = 1;
    assert_int_equal(nodes_of(s, j), 0x1c0); /* around the required one */
    j.min_nodes = j.max_nodes = 6;
    j.num_tasks = 6;
    j.nreq = 0;
    assert_int_equal(nodes_of(s, j), 0);
    sched_free(s);
}

static void test_required(void **state)
{
    const uint32_t needed[] = { 5, 2 }, never[] = { 3 };
    struct sched *s = cluster(8);
    struct sched_job j = wide(2, 2, 2);

    (void)state;
    j.req_nodes = needed;
    j.nreq = 2;
    assert_int_equal(nodes_of(s, j), 0x24);
    j.min_nodes = j.max_nodes = 4;
    j.num_tasks = 4;
    assert_int_equal(nodes_of(s, j), 0x3c); /* first what is behind the required ones */
    j.exc_nodes = never;
    j.nexc = 1;
    j.min_nodes = j.max_nodes = 7;
    j.num_tasks = 7;
    assert_int_equal(nodes_of(s, j), 0xf7);
    j.min_nodes = j.max_nodes = 8;
    j.num_tasks = 8;
    assert_int_equal(nodes_of(s, j), 0);
    sched_free(s);
}

static int by_tasks_down(const void *a, const void *b)
{
    return (int)((const struct fit *)b)->tasks - (int)((const struct fit *)a)->tasks;
}

static void test_sort(void **state)
{
    struct fit v[] = { { .id = 7, .tasks = 1 }, { .id = 3, .tasks = 9 }, { .id = 5, .tasks = 4 } };
    struct fitvec vec = { .v = v, .n = 3 };

    (void)state;
    sort_fits(&vec, by_node);
    assert_true(v[0].id == 3 && v[1].id == 5 && v[2].id == 7);
    sort_fits(&vec, by_tasks_down);
    assert_true(v[0].tasks == 9 && v[1].tasks == 4 && v[2].tasks == 1);
    vec.n = 0;
    sort_fits(&vec, by_node);
    assert_int_equal(by_node(&v[0], &v[0]), 0);
}

/* A job that leaves a range gets as many nodes as it may, or as few as it asks to. */
static void test_range(void **state)
{
    struct sched *s = cluster(4);
    struct sched_job j = wide(2, 3, 0);

    (void)state;
    assert_int_equal(nodes_of(s, j), 0x07);
    j.use_min_nodes = true;
    assert_int_equal(nodes_of(s, j), 0x03);
    j = wide(1, 4, 0);
    j.node_counts = (const uint32_t[]){ 1, 4 };
    j.nnode_counts = 2;
    assert_int_equal(nodes_of(s, j), 0x0f);
    (void)inner_run(s, 100, LOW, 2, 0xff, 0, 60);
    assert_int_equal(nodes_of(s, j), 0x01); /* three are no number of the list */
    sched_free(s);
}

/* ---- what it gets there ---------------------------------------------------------------------- */

/* Tasks on each node, as digits; 0 when it does not come out. */
static uint32_t tasks_of(struct sched *s, struct sched_job j)
{
    struct pick p = pick_for(s, j);
    struct sched_alloc a = { 0 };
    uint32_t digits = 0;

    if (pick_layout(&p, &a) == 1) {
        for (size_t i = 0; i < a.nnodes; i++) {
            uint32_t bits = 0;

            for (uint32_t w = 0; w < a.nodes[i].ncpu_words; w++)
                bits += (uint32_t)__builtin_popcountll(a.nodes[i].cpu_bits[w]);
            assert_int_equal(a.nodes[i].cpus, bits);
            digits = digits * 10 + a.nodes[i].tasks;
        }
        alloc_done(&a);
    }
    sched_job_remove(s, j.id);
    return digits;
}

/* Tasks are dealt out evenly, or fill node after node. */
static void test_tasks(void **state)
{
    struct sched *s = cluster(3);
    struct sched_job j = wide(3, 3, 10);

    (void)state;
    assert_int_equal(tasks_of(s, j), 811); /* a node leaves a task for each that follows */
    j.pack = true;
    assert_int_equal(tasks_of(s, j), 811);
    j = wide(3, 3, 10);
    j.exclusive = true; /* whole nodes: each has CPUs for all */
    assert_int_equal(tasks_of(s, j), 433);
    j.pack = true;
    assert_int_equal(tasks_of(s, j), 811);
    j = wide(2, 2, 0);
    j.ntasks_per_node = 3;
    assert_int_equal(tasks_of(s, j), 33);
    j.cpus_per_task = 3; /* nine CPUs on a node of eight */
    assert_int_equal(tasks_of(s, j), 0);
    sched_free(s);
}

static struct sched *two_sockets(enum sched_select select)
{
    const struct sched_node n = { .id = 0,
                                  .name = "n",
                                  .cpus = 16,
                                  .sockets = 2,
                                  .cores_per_socket = 4,
                                  .threads_per_core = 2,
                                  .mem_mib = 4000,
                                  .weight = 1,
                                  .schedulable = true };

    return inner_single((struct sched_params){ .select = select }, &n);
}

static uint64_t bits_of(struct sched *s, struct sched_job j, uint32_t cpus, uint64_t mem_mib)
{
    struct pick p = pick_for(s, j);
    struct sched_alloc a = { 0 };
    uint64_t bits;

    assert_int_equal(pick_layout(&p, &a), 1);
    bits = a.nodes[0].cpu_bits[0];
    assert_int_equal(a.nodes[0].cpus, cpus);
    assert_int_equal(a.nodes[0].mem_mib, mem_mib);
    alloc_done(&a);
    sched_job_remove(s, j.id);
    return bits;
}

/* CPUs of one core stand beside each other: 0 to 7 are of socket 0, 8 to 15 of socket 1. */
static void test_cpus(void **state)
{
    struct sched *s = two_sockets(SCHED_SELECT_CORE);
    struct sched_job j = inner_job(1, LOW, 4);

    (void)state;
    j.mem_per_cpu_mib = 10;
    assert_int_equal(bits_of(s, j, 4, 40), 0x0303); /* round the sockets */
    j.num_tasks = 3;
    assert_int_equal(bits_of(s, j, 4, 40), 0x0303); /* whole cores */
    j.socket_dist = SCHED_DIST_BLOCK;
    j.num_tasks = 4;
    assert_int_equal(bits_of(s, j, 4, 40), 0x000f);
    j.socket_dist = SCHED_DIST_DEFAULT;
    j.num_tasks = 1;
    j.cpus_per_task = 4; /* a task stays in its socket */
    assert_int_equal(bits_of(s, j, 4, 40), 0x000f);
    j.cpus_per_task = 1;
    j.num_tasks = 4;
    j.threads_per_core = 1; /* one CPU of each core counts */
    assert_int_equal(bits_of(s, j, 8, 40), 0x0f0f);
    j.threads_per_core = 0;
    j.ntasks_per_socket = 2;
    j.num_tasks = 4;
    assert_int_equal(bits_of(s, j, 4, 40), 0x0303);
    j.ntasks_per_socket = 0;
    j.exclusive = true;
    j.has_mem_per_node = true;
    j.mem_per_cpu_mib = 0; /* all of it */
    assert_int_equal(bits_of(s, j, 16, 4000), 0xffff);
    sched_free(s);
}

static void test_other_units(void **state)
{
    struct sched *s = two_sockets(SCHED_SELECT_SOCKET);
    struct sched_job j = inner_job(1, LOW, 1);

    (void)state;
    j.mem_per_cpu_mib = 10;
    assert_int_equal(bits_of(s, j, 8, 80), 0x00ff); /* a whole socket */
    sched_free(s);
    s = two_sockets(SCHED_SELECT_CPU);
    j.num_tasks = 3;
    {
        struct pick p = pick_for(s, j);
        struct sched_alloc a = { 0 };

        assert_int_equal(pick_layout(&p, &a), 1);
        assert_int_equal(a.nodes[0].cpus, 3); /* it holds two cores, and is shown with three CPUs */
        assert_int_equal(a.nodes[0].cpu_bits[0], 0x000f);
        assert_int_equal(a.nodes[0].mem_mib, 30);
        alloc_done(&a);
    }
    sched_free(s);
}

/* ---- why not --------------------------------------------------------------------------------- */

static enum sched_why verdict(struct sched *s, struct sched_job j)
{
    struct pick p = pick_for(s, j);
    enum sched_why why = pick_verdict(&p);

    sched_job_remove(s, j.id);
    return why;
}

static void test_verdict(void **state)
{
    const uint32_t down[] = { 1 };
    struct sched *s = cluster(2);
    struct sched_job j = wide(2, 2, 2);

    (void)state;
    (void)inner_run(s, 100, LOW, 0, 0xff, 0, 60);
    assert_int_equal(verdict(s, j), SCHED_WHY_RESOURCES);
    assert_int_equal(verdict(s, wide(3, 3, 3)), SCHED_WHY_BAD_CONSTRAINTS);
    assert_int_equal(verdict(s, inner_job(1, LOW, 9)), SCHED_WHY_BAD_CONSTRAINTS);
    s->nodes[1].schedulable = false;
    set_member(s->up, 1, false);
    s->up_gen++;
    assert_int_equal(verdict(s, j), SCHED_WHY_NODES_UNAVAILABLE);
    assert_int_equal(verdict(s, inner_job(1, LOW, 1)), SCHED_WHY_RESOURCES);
    j = inner_job(1, LOW, 1);
    j.req_nodes = down;
    j.nreq = 1;
    assert_int_equal(verdict(s, j), SCHED_WHY_NODE_NOT_AVAIL); /* it names the one that is down */
    sched_free(s);
}

static enum sched_why because_of_resv(struct sched *s, struct sched_job j)
{
    enum sched_why why = adv_why(s, inner_put(s, j)->entries[0], NOW);

    sched_job_remove(s, j.id);
    return why;
}

static void test_reservations(void **state)
{
    const uint32_t first[] = { 0 };
    const struct sched_resv_window later = { NOW + 5 * MINUTE, NOW + 60 * MINUTE };
    struct sched_resv r = {
        .id = 3, .node_ids = first, .nnodes = 1, .windows = &later, .nwindows = 1
    };
    struct sched *s = cluster(1);
    struct sched_job j = inner_job(1, LOW, 1), in = inner_job(2, LOW, 1);

    (void)state;
    in.resvs = &(struct sched_job_resv){ .id = 3 };
    in.nresvs = 1;
    in.resv_only = true;
    assert_int_equal(because_of_resv(s, j), SCHED_WHY_NONE);
    assert_int_equal(because_of_resv(s, in), SCHED_WHY_RESV); /* there is none of that number */
    assert_int_equal(sched_resv_put(s, &r), 0);
    assert_int_equal(advs_refresh(s, NOW), 0);
    assert_int_equal(because_of_resv(s, j), SCHED_WHY_RESERVED); /* it would run into it */
    assert_int_equal(because_of_resv(s, in), SCHED_WHY_RESV);    /* it has not begun */
    j.time_limit_min = 4;
    assert_int_equal(because_of_resv(s, j), SCHED_WHY_NONE);
    j.time_limit_min = 10;
    j.time_min_min = 4; /* short enough, if need be */
    assert_int_equal(because_of_resv(s, j), SCHED_WHY_NONE);
    j.time_min_min = 0;
    r.maint = true;
    assert_int_equal(sched_resv_put(s, &r), 0);
    assert_int_equal(advs_refresh(s, NOW), 0);
    assert_int_equal(because_of_resv(s, j), SCHED_WHY_RESV_MAINT);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_fit), cmocka_unit_test(test_other_orders),
        cmocka_unit_test(test_cursor),    cmocka_unit_test(test_runs),
        cmocka_unit_test(test_most),      cmocka_unit_test(test_contiguous),
        cmocka_unit_test(test_required),  cmocka_unit_test(test_sort),
        cmocka_unit_test(test_range),     cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_cpus),      cmocka_unit_test(test_other_units),
        cmocka_unit_test(test_verdict),   cmocka_unit_test(test_reservations),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
