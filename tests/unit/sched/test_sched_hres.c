/* test_sched_hres.c - resources with layers in the scheduler
 *
 *     test_sched_hres [CASES]       random ones, 10,000 without
 *
 * The worked examples by their numbers: 24 nodes, racks of six, halves of twelve.
 * Random cases: resources of all modes and streams of jobs for them; no layer may ever be charged
 * more than it has, each job holds what its nodes cost, and at the end everything is given back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/hrescharge.h"
#include "sched/sched.h"
#include "sched/select/hrespick.h"
#include "sched/select/hreswhy.h"
#include "sched/state/lics.h"
#include "sched/hresput.h"
#include "sched/topo/topo.h"

#define MINUTE INT64_C(60000000)
#define NOW (INT64_C(28333334) * MINUTE)

#include "sched_util.h"

#define CPUS 8u
#define NODES 24u
#define LAYERS 16u
#define JOBS 64u

static uint32_t cases = 10000;

/* ---- the resources of the examples ----------------------------------------------------------- */

static const uint32_t ids[NODES] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                     12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23 };

#define LAYER(of, list, first, n, count, up)                                                       \
    {                                                                                              \
        .name = of "(" list ")", .node_ids = ids + (first), .nnodes = (n), .total = (count),       \
        .parent = (up)                                                                             \
    }
#define TOP SCHED_UNLIMITED

static const struct sched_layer svc[] = {
    LAYER("svc", "n[01-24]", 0, 24, 20, TOP),  LAYER("svc", "n[01-12]", 0, 12, 14, TOP),
    LAYER("svc", "n[13-24]", 12, 12, 14, TOP), LAYER("svc", "n[01-06]", 0, 6, 9, TOP),
    LAYER("svc", "n[07-12]", 6, 6, 9, TOP),    LAYER("svc", "n[13-18]", 12, 6, 9, TOP),
    LAYER("svc", "n[19-24]", 18, 6, 9, TOP),
};
/* Layers of mode 1 are tried in the order of the file: the halves come first here. */
static const struct sched_layer port[] = {
    LAYER("port", "n[01-12]", 0, 12, 75, TOP),
    LAYER("port", "n[13-24]", 12, 12, 75, TOP),
    LAYER("port", "n[01-24]", 0, 24, 40, TOP),
};
static const struct sched_layer watts[] = {
    LAYER("watts", "n[01-06]", 0, 6, 13500, 4),    LAYER("watts", "n[07-12]", 6, 6, 15000, 4),
    LAYER("watts", "n[13-18]", 12, 6, 15000, 5),   LAYER("watts", "n[19-24]", 18, 6, 15000, 5),
    LAYER("watts", "n[01-12]", 0, 12, 20500, 6),   LAYER("watts", "n[13-24]", 12, 12, 27000, 6),
    LAYER("watts", "n[01-24]", 0, 24, 37000, TOP),
};
static const struct sched_layer cool[] = { LAYER("cool", "n[01-24]", 0, 24, 10, TOP) };
static const struct sched_variable variables[] = { { "idle", 400 }, { "train", 1500 } };

static void put_resources(struct sched *s)
{
    const struct sched_resource list[] = {
        { .name = "svc", .mode = 2, .layers = svc, .nlayers = ARRAY_SIZE(svc) },
        { .name = "port", .mode = 1, .layers = port, .nlayers = ARRAY_SIZE(port) },
        { .name = "watts",
          .mode = 3,
          .layers = watts,
          .nlayers = ARRAY_SIZE(watts),
          .variables = variables,
          .nvariables = 2 },
        { .name = "cool", .mode = 3, .layers = cool, .nlayers = 1 },
    };

    assert_int_equal(sched_resources_put(s, list, ARRAY_SIZE(list)), 0);
    assert_int_equal(sched_license_put(s, "a", 2), 0);
    assert_int_equal(sched_license_put(s, "b", 3), 0);
}

static struct sched *world(bool conservative)
{
    struct sched_params p = { .conservative = conservative, .bf_resolution_s = 60 };
    struct sched *s = util_cluster(p, NODES, CPUS, 0);

    put_resources(s);
    return s;
}

/* "svc:3", "watts:train" on n nodes; of first .. first + n - 1 when first is given. */
struct want {
    const char *name;
    uint64_t count;
    const char *variable;
    uint32_t nodes;
    int first; /* -1 = any */
};

static struct sched_job job_for(uint32_t id, const struct want *w, struct sched_lic_req *req)
{
    struct sched_job j = util_job(id);

    *req = (struct sched_lic_req){ .name = w->name, .count = w->count, .variable = w->variable };
    j.min_nodes = j.max_nodes = j.num_tasks = w->nodes;
    j.licenses = req;
    j.nlicenses = 1;
    if (w->first >= 0) {
        j.req_nodes = ids + w->first;
        j.nreq = w->nodes;
    }
    return j;
}

struct seen {
    bool started;
    enum sched_why why;
    uint32_t nodes; /* a bit for each */
    char held[512]; /* "svc:3 svc(n[01-24]):3 ..." */
};

static struct seen look(struct sched *s, uint32_t id, bool backfill)
{
    struct sched_decisions d = { 0 };
    struct seen seen = { .why = SCHED_WHY_NONE };
    int64_t wake;
    size_t len = 0;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    if (backfill)
        assert_int_equal(sched_backfill(s, NOW, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        const struct sched_decision *x = &d.items[i];

        if (x->job_id != id)
            continue;
        seen.started = x->kind == SCHED_START;
        seen.why = x->why;
        for (size_t k = 0; k < x->alloc.nnodes; k++)
            seen.nodes |= 1u << x->alloc.nodes[k].node_id;
        for (size_t k = 0; k < x->nlicenses; k++)
            len += (size_t)snprintf(seen.held + len, sizeof(seen.held) - len, "%s%s:%llu",
                                    k ? " " : "", x->licenses[k].name,
                                    (unsigned long long)x->licenses[k].count);
    }
    sched_decisions_done(&d);
    return seen;
}

static struct seen ask(struct sched *s, uint32_t id, struct want w)
{
    struct sched_lic_req req;

    put(s, job_for(id, &w, &req));
    return look(s, id, false);
}

static bool possible(struct sched *s, struct want w)
{
    struct sched_lic_req req;
    struct sched_job j = job_for(999, &w, &req);
    enum sched_why why;

    return sched_feasible(s, &j, &why);
}

#define ANY (-1)
#define RANGE(first, n) (((1u << (n)) - 1) << (first))

/* ---- mode 2 ---------------------------------------------------------------------------------- */

static void test_examples_1_to_6(void **state)
{
    struct sched *s = world(false);
    struct seen x;

    (void)state;
    x = ask(s, 1, (struct want){ "svc", 3, NULL, 4, ANY });
    assert_int_equal(x.nodes, RANGE(0, 4));
    assert_string_equal(x.held, "svc:3 svc(n[01-24]):3 svc(n[01-12]):3 svc(n[01-06]):3");
    sched_job_remove(s, 1);

    x = ask(s, 2, (struct want){ "svc", 3, NULL, 9, 0 }); /* once a layer, not once a node */
    assert_string_equal(x.held, "svc:3 svc(n[01-24]):3 svc(n[01-12]):3 svc(n[01-06]):3 "
                                "svc(n[07-12]):3");
    sched_job_remove(s, 2);
    assert_int_equal(sched_license_used(s, "svc(n[01-24])"), 0);

    assert_true(ask(s, 3, (struct want){ "svc", 9, NULL, 6, 0 }).started);
    x = ask(s, 4, (struct want){ "svc", 3, NULL, 6, ANY }); /* 3: rack A is full */
    assert_int_equal(x.nodes, RANGE(6, 6));
    sched_job_remove(s, 4);

    assert_true(ask(s, 5, (struct want){ "svc", 4, NULL, 1, 6 }).started);
    x = ask(s, 6, (struct want){ "svc", 3, NULL, 2, ANY }); /* 4: the half has 13 of 14 */
    assert_int_equal(x.nodes, RANGE(12, 2));
    for (uint32_t id = 3; id <= 6; id++)
        sched_job_remove(s, id);

    for (uint32_t id = 10; id < 16; id++)
        assert_true(ask(s, id, (struct want){ "svc", 3, NULL, 1, id < 13 ? (int)id - 10 : (int)id })
                        .started);
    x = ask(s, 16, (struct want){ "svc", 3, NULL, 1, ANY }); /* 5: the root has 18 of 20 */
    assert_false(x.started);
    assert_int_equal(x.why, SCHED_WHY_RESERVED);
    sched_job_remove(s, 10);
    assert_true(look(s, 16, false).started);
    sched_free(s);
}

/* ---- mode 1 ---------------------------------------------------------------------------------- */

static void test_examples_7_to_9(void **state)
{
    struct sched *s = world(false);
    struct seen x = ask(s, 1, (struct want){ "port", 30, NULL, 1, 0 }); /* 7 */

    (void)state;
    assert_string_equal(x.held, "port:30 port(n[01-12]):30");
    assert_true(ask(s, 2, (struct want){ "port", 30, NULL, 1, 5 }).started);
    x = ask(s, 3, (struct want){ "port", 30, NULL, 1, 1 }); /* 8: 60 of 75 are used */
    assert_string_equal(x.held, "port:30 port(n[01-24]):30");
    x = ask(s, 4, (struct want){ "port", 30, NULL, 1, 1 }); /* 9: nothing is left there */
    assert_false(x.started);
    assert_int_equal(x.why, SCHED_WHY_RESERVED);
    sched_job_remove(s, 4);
    x = ask(s, 5, (struct want){ "port", 30, NULL, 1, ANY });
    assert_int_equal(x.nodes, RANGE(12, 1));
    assert_string_equal(x.held, "port:30 port(n[13-24]):30");
    sched_free(s);
}

/* ---- mode 3 ---------------------------------------------------------------------------------- */

static void test_examples_10_to_15(void **state)
{
    struct sched *s = world(false);
    struct seen x = ask(s, 1, (struct want){ "watts", 0, "train", 12, 0 }); /* 10 */

    (void)state;
    assert_string_equal(x.held, "watts:1500 watts(n[01-06]):9000 watts(n[07-12]):9000 "
                                "watts(n[01-12]):18000 watts(n[01-24]):18000");
    sched_job_remove(s, 1);
    assert_false(possible(s, (struct want){ "watts", 1800, NULL, 12, 0 })); /* 11 */
    assert_false(possible(s, (struct want){ "watts", 2500, NULL, 6, 0 }));  /* 12 */
    assert_true(possible(s, (struct want){ "watts", 2500, NULL, 6, 6 }));
    assert_true(possible(s, (struct want){ "watts", 1600, NULL, 23, ANY }));  /* 13 */
    assert_false(possible(s, (struct want){ "watts", 1600, NULL, 24, ANY })); /* 14 */
    x = ask(s, 2, (struct want){ "watts", 0, "train", 24, ANY });             /* 15 */
    assert_string_equal(x.held, "watts:1500 watts(n[01-06]):9000 watts(n[07-12]):9000 "
                                "watts(n[13-18]):9000 watts(n[19-24]):9000 watts(n[01-12]):18000 "
                                "watts(n[13-24]):18000 watts(n[01-24]):36000");
    sched_free(s);
}

static void test_examples_16_to_21(void **state)
{
    struct sched *s = world(false);
    struct sched_lic_req two[] = { { .name = "watts", .count = 1000 },
                                   { .name = "cool", .count = 1 } };
    struct sched_lic_req any[] = { { .name = "a", .count = 2 }, { .name = "b", .count = 1 } };
    struct sched_layer fewer[ARRAY_SIZE(svc)];
    const struct sched_resource less = { .name = "svc", .mode = 2, .layers = fewer, .nlayers = 7 };
    struct sched_job j = util_job(1);
    struct seen x;

    (void)state;
    j.licenses = two;
    j.nlicenses = 2;
    assert_int_equal(sched_job_put(s, &j), -EINVAL);                         /* 16 */
    assert_false(possible(s, (struct want){ "watts", 0, "turbo", 1, ANY })); /* 17 */

    assert_true(ask(s, 2, (struct want){ "watts", 0, "idle", 24, ANY }).started); /* 18 */
    x = ask(s, 3, (struct want){ "watts", 0, "train", 19, ANY });
    assert_false(x.started);
    assert_int_equal(x.why, SCHED_WHY_RESOURCES);
    sched_job_remove(s, 3);
    x = ask(s, 4, (struct want){ "watts", 0, "train", 18, ANY });
    assert_int_equal(__builtin_popcount(x.nodes), 18);
    sched_job_remove(s, 4);

    two[0] = (struct sched_lic_req){ .name = "a", .count = 1 };
    j = util_job(5);
    j.licenses = two;
    j.nlicenses = 1;
    put(s, j);
    assert_true(look(s, 5, false).started);
    j = util_job(6);
    j.licenses = any;
    j.nlicenses = 2;
    j.licenses_any = true;
    put(s, j);
    assert_string_equal(look(s, 6, false).held, "b:1"); /* 19 */
    sched_free(s);

    s = world(false);
    memcpy(fewer, svc, sizeof(svc));
    fewer[5].total = 0;
    assert_int_equal(sched_resources_put(s, &less, 1), 0);
    x = ask(s, 7, (struct want){ "svc", 1, NULL, 12, ANY }); /* 21 */
    assert_int_equal(x.nodes & RANGE(12, 6), 0);
    assert_int_equal(__builtin_popcount(x.nodes), 12);
    x = ask(s, 8, (struct want){ "svc", 1, NULL, 1, 13 });
    assert_int_equal(x.why, SCHED_WHY_RESERVED);
    sched_free(s);
}

/* ---- what was recorded beyond the examples --------------------------------------------------- */

/* Mode 3 with one layer is charged once.  Alternatives with layers are all held. */
static void test_recorded(void **state)
{
    struct sched *s = world(false);
    struct sched_lic_req any[] = { { .name = "svc", .count = 2 }, { .name = "port", .count = 1 } };
    struct sched_job j = util_job(2);
    struct seen x = ask(s, 1, (struct want){ "cool", 1, NULL, 11, ANY });

    (void)state;
    assert_string_equal(x.held, "cool:1 cool(n[01-24]):1");
    assert_true(ask(s, 3, (struct want){ "svc", 0, NULL, 1, ANY }).started); /* count 0 */
    assert_true(possible(s, (struct want){ "svc", 15, NULL, 1, ANY }));      /* waits for ever */
    j.licenses = any;
    j.nlicenses = 2;
    j.licenses_any = true;
    put(s, j);
    assert_string_equal(look(s, 2, false).held, "svc:2 svc(n[01-24]):2 svc(n[01-12]):2 "
                                                "svc(n[01-06]):2 port:1 port(n[01-12]):1");
    sched_free(s);
}

/* What jobs hold stays when counts change; a layer that is gone is released all the same. */
static void test_reconfigured(void **state)
{
    struct sched *s = world(false);
    struct sched_layer fewer[ARRAY_SIZE(watts)];
    const struct sched_resource less = {
        .name = "watts", .mode = 3, .layers = fewer, .nlayers = ARRAY_SIZE(watts)
    };

    (void)state;
    assert_true(ask(s, 1, (struct want){ "watts", 1000, NULL, 24, ANY }).started);
    assert_true(ask(s, 2, (struct want){ "svc", 3, NULL, 1, ANY }).started);
    memcpy(fewer, watts, sizeof(watts));
    fewer[6].total = 25000;
    assert_int_equal(sched_resources_put(s, &less, 1), 0);
    assert_int_equal(sched_license_used(s, "watts(n[01-24])"), 24000);
    assert_int_equal(sched_license_used(s, "svc(n[01-24])"), 3);
    assert_false(ask(s, 3, (struct want){ "watts", 1000, NULL, 2, ANY }).started);
    sched_job_remove(s, 3);
    assert_true(ask(s, 4, (struct want){ "watts", 1000, NULL, 1, ANY }).started);
    for (uint32_t id = 1; id <= 4; id++)
        sched_job_remove(s, id);
    assert_int_equal(sched_license_used(s, "watts(n[01-24])"), 0);
    assert_int_equal(sched_license_used(s, "svc(n[01-24])"), 0);
    sched_free(s);
}

/* A job that the scheduler did not start itself holds the layers that its record names. */
static void test_recovered(void **state)
{
    struct sched *s = world(false);
    const struct sched_lic_req held[] = { { .name = "svc", .count = 12 },
                                          { .name = "svc(n[01-24])", .count = 12 },
                                          { .name = "svc(n[01-12])", .count = 12 } };
    struct sched_alloc_node node = { .node_id = 7, .cpus = 1, .tasks = 1 };
    uint64_t bits = 1;
    struct sched_alloc alloc = { &node, 1 };

    (void)state;
    node.cpu_bits = &bits;
    node.ncpu_words = 1;
    assert_int_equal(sched_job_running(s, 1, "main", &alloc, NOW, NOW + 10 * MINUTE, false), 0);
    assert_int_equal(sched_job_licenses(s, 1, held, ARRAY_SIZE(held)), 0);
    assert_int_equal(ask(s, 2, (struct want){ "svc", 3, NULL, 1, ANY }).nodes, RANGE(12, 1));
    sched_job_remove(s, 1);
    assert_int_equal(sched_license_used(s, "svc(n[01-12])"), 0);
    sched_free(s);
}

/* A reservation keeps a layer from other jobs; without a layer it is the first one. */
static void test_reserved(void **state)
{
    struct sched *s = world(false);
    const struct sched_resv_window w = { NOW, NOW + 60 * MINUTE };
    const struct sched_lic_req kept[] = { { .name = "port(n[01-12])", .count = 60 },
                                          { .name = "svc", .count = 18 } };
    const struct sched_job_resv in = { .id = 1 };
    struct sched_resv r = {
        .id = 1, .windows = &w, .nwindows = 1, .licenses = kept, .nlicenses = 2, .flex = true
    };
    struct sched_lic_req req;
    struct want big = { "svc", 3, NULL, 1, ANY };
    struct sched_job j;

    (void)state;
    assert_int_equal(sched_resv_put(s, &r), 0);
    assert_string_equal(ask(s, 1, (struct want){ "port", 30, NULL, 1, 0 }).held,
                        "port:30 port(n[01-24]):30");
    assert_int_equal(ask(s, 2, big).why, SCHED_WHY_RESERVED);
    sched_job_remove(s, 2);
    j = job_for(3, &big, &req);
    j.resvs = &in;
    j.nresvs = 1;
    j.resv_only = true;
    put(s, j);
    assert_true(look(s, 3, false).started);
    sched_resv_remove(s, 1);
    assert_true(ask(s, 4, big).started);
    sched_free(s);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static int64_t expected(struct sched *s, uint32_t id, uint32_t *ret_nodes)
{
    struct sched_decisions d = { 0 };
    int64_t wake, at = -1;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].job_id != id || d.items[i].kind != SCHED_EXPECT)
            continue;
        at = d.items[i].expected_us ? (d.items[i].expected_us - NOW) / MINUTE : -1;
        *ret_nodes = 0;
        for (size_t k = 0; k < d.items[i].nexpected; k++)
            *ret_nodes |= 1u << d.items[i].expected_nodes[k];
    }
    sched_decisions_done(&d);
    return at;
}

/* With bf_licenses a plan counts layers: the job starts when those before it have ended.  Without
 * it says where the job would start, and keeps nothing there. */
static void test_planned(void **state)
{
    (void)state;
    for (int conservative = 0; conservative < 2; conservative++)
        for (int counted = 0; counted < 2; counted++) {
            struct sched_params p = { .conservative = conservative,
                                      .bf_resolution_s = 60,
                                      .bf_licenses = counted };
            struct sched *s = util_cluster(p, NODES, CPUS, 0);
            struct want half = { "watts", 1500, NULL, 12, 0 };
            struct sched_lic_req req;
            struct sched_job j;
            uint32_t nodes = 0;
            int64_t at;

            put_resources(s);
            assert_true(ask(s, 1, half).started);
            half.nodes = 3;
            half.first = 6;
            half.count = 2000;
            j = job_for(2, &half, &req);
            j.num_tasks = 6;
            put(s, j);
            at = expected(s, 2, &nodes);
            assert_int_equal(at, counted ? 10 : 0);
            assert_int_equal(nodes, RANGE(6, 3));
            half.count = 0; /* a job for the same nodes that needs no watts */
            j = job_for(3, &half, &req);
            j.time_limit_min = 600;
            j.num_tasks = 3 * (CPUS - 1);
            put(s, j);
            assert_int_equal(look(s, 3, true).started, !counted);
            sched_job_remove(s, 1);
            sched_job_remove(s, 3);
            assert_int_equal(look(s, 2, true).started, true);
            sched_free(s);
        }
}

/* ---- topologies ------------------------------------------------------------------------------ */

/* The racks are base blocks: a block offers as many nodes as its layers hold. */
static void test_blocks(void **state)
{
    static const char *const names[] = { "A", "B", "C", "D" };
    static const uint32_t sizes[] = { 6, 12, 24 };
    struct topo_unit_spec units[4];
    const struct topo_spec spec = { .name = "racks",
                                    .kind = TOPO_BLOCK,
                                    .units = units,
                                    .nunits = 4,
                                    .block_sizes = sizes,
                                    .nblock_sizes = 3 };
    const struct topo_spec *const specs[] = { &spec };
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = NODES,
                                          .tier = 1,
                                          .up = true,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED,
                                          .topology = "racks" };
    struct sched *s = world(false);
    struct want six = { "watts", 2500, NULL, 6, ANY };
    struct sched_lic_req req;
    struct sched_job j;
    struct seen x;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        units[i] = (struct topo_unit_spec){ .name = names[i], .nodes = ids + i * 6, .nnodes = 6 };
    assert_int_equal(sched_topologies_put(s, specs, 1), 0);
    assert_int_equal(sched_partition_put(s, &part), 0);
    /* A holds five of them. */
    x = ask(s, 1, six);
    assert_true(x.nodes == RANGE(6, 6) || x.nodes == RANGE(12, 6) || x.nodes == RANGE(18, 6));
    sched_job_remove(s, 1);
    j = job_for(2, &six, &req);
    j.segment_size = 3; /* A: one segment */
    put(s, j);
    x = look(s, 2, false);
    assert_int_equal(__builtin_popcount(x.nodes), 6);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(__builtin_popcount(x.nodes & RANGE(i * 6, 6)) % 3, 0);
    sched_job_remove(s, 2);
    six.nodes = 9; /* A offers 5, B 6: the half above holds 8 */
    x = ask(s, 3, six);
    assert_int_equal(__builtin_popcount(x.nodes), 9);
    assert_in_range(__builtin_popcount(x.nodes & RANGE(0, 12)), 0, 8);
    sched_job_remove(s, 3);
    six.count = 1500; /* all of them */
    six.nodes = 24;
    assert_int_equal(__builtin_popcount(ask(s, 4, six).nodes), 24);
    sched_free(s);
}

/* ---- random ---------------------------------------------------------------------------------- */

struct rlayer {
    char name[32];
    uint32_t ids[NODES], n;
    uint64_t total, used;
    uint32_t parent;
};
struct rres {
    char name[8];
    unsigned mode;
    struct rlayer layers[LAYERS];
    uint32_t n;
};
struct rjob {
    bool runs, pending;
    struct {
        struct rlayer *l;
        uint64_t count;
    } held[3 * LAYERS];
    uint32_t nheld;
};

static void fill_layer(struct rres *r, uint32_t first, uint32_t n, uint64_t total, uint32_t parent)
{
    struct rlayer *l = &r->layers[r->n];
    char name[8];

    memcpy(name, r->name, sizeof(name));
    (void)snprintf(l->name, sizeof(l->name), "%.7s(%u)", name, r->n);
    r->n++;
    l->n = n;
    for (uint32_t i = 0; i < n; i++)
        l->ids[i] = first + i;
    l->total = total;
    l->parent = parent;
}

/* Leaves, then what is around them, up to a root. */
static void make_tree(struct rres *r, uint64_t *x, uint32_t nodes)
{
    uint32_t leaf = 1 + draw(x, 4), per = 1 + draw(x, 3), leaves = (nodes + leaf - 1) / leaf;
    uint32_t mids = (leaves + per - 1) / per;

    if (leaves + mids + 1 > LAYERS) {
        fill_layer(r, 0, nodes, draw(x, 40), TOP);
        return;
    }
    for (uint32_t i = 0; i < leaves; i++)
        fill_layer(r, i * leaf, MIN(leaf, nodes - i * leaf), draw(x, 12), leaves + i / per);
    for (uint32_t i = 0; i < mids; i++)
        fill_layer(r, i * leaf * per, MIN(leaf * per, nodes - i * leaf * per), draw(x, 25),
                   leaves + mids);
    fill_layer(r, 0, nodes, draw(x, 50), TOP);
}

static void make_sets(struct rres *r, uint64_t *x, uint32_t nodes)
{
    uint32_t n = 1 + draw(x, 6);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = draw(x, nodes);

        fill_layer(r, first, 1 + draw(x, nodes - first), draw(x, 20), TOP);
    }
}

static void feed_resources(struct sched *s, const struct rres *res, uint32_t n)
{
    struct sched_layer layers[3][LAYERS];
    struct sched_resource list[3];

    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < res[i].n; k++)
            layers[i][k] = (struct sched_layer){ .name = res[i].layers[k].name,
                                                 .node_ids = res[i].layers[k].ids,
                                                 .nnodes = res[i].layers[k].n,
                                                 .total = res[i].layers[k].total,
                                                 .parent = res[i].layers[k].parent };
        list[i] = (struct sched_resource){
            .name = res[i].name, .mode = res[i].mode, .layers = layers[i], .nlayers = res[i].n
        };
    }
    assert_int_equal(sched_resources_put(s, list, n), 0);
}

static uint32_t inside(const struct rlayer *l, const struct sched_alloc *a)
{
    uint32_t n = 0;

    for (size_t i = 0; i < a->nnodes; i++)
        for (uint32_t k = 0; k < l->n; k++)
            n += a->nodes[i].node_id == l->ids[k];
    return n;
}

static uint64_t charged(const struct sched_decision *d, const char *name)
{
    for (size_t i = 0; i < d->nlicenses; i++)
        if (strcmp(d->licenses[i].name, name) == 0)
            return d->licenses[i].count;
    return 0;
}

/* Is what the job holds of a resource what the rules say, given what others held before? */
static void check_charge(struct rres *r, const struct sched_decision *d, struct rjob *j)
{
    uint64_t c = charged(d, r->name);
    uint32_t ncharged = 0;

    for (uint32_t k = 0; c && k < r->n; k++) {
        struct rlayer *l = &r->layers[k];
        uint64_t got = charged(d, l->name), n = inside(l, &d->alloc);

        if (r->mode == 2 || (r->mode == 3 && r->n == 1))
            assert_int_equal(got, n ? c : 0);
        else if (r->mode == 3)
            assert_int_equal(got, n * c);
        else
            assert_true(!got || (got == c && n && ++ncharged == 1));
        if (r->mode == 1 && !got && n && !ncharged)
            assert_true(l->used + c > l->total); /* one before had too little */
        l->used += got;
        if (l->used > l->total)
            fail_msg("%s: %llu of %llu", l->name, (unsigned long long)l->used,
                     (unsigned long long)l->total);
        if (got) {
            j->held[j->nheld].l = l;
            j->held[j->nheld++].count = got;
        }
    }
    if (c && r->mode == 1)
        assert_int_equal(ncharged, 1);
}

static void take_starts(const struct sched_decisions *d, struct rres *res, uint32_t n,
                        struct rjob *jobs)
{
    for (size_t i = 0; i < d->n; i++) {
        struct rjob *j = &jobs[d->items[i].job_id];

        if (d->items[i].kind != SCHED_START)
            continue;
        j->runs = true;
        j->pending = false;
        j->nheld = 0;
        for (uint32_t k = 0; k < n; k++)
            check_charge(&res[k], &d->items[i], j);
    }
}

static void end_job(struct sched *s, struct rjob *jobs, uint32_t id)
{
    for (uint32_t i = 0; jobs[id].runs && i < jobs[id].nheld; i++)
        jobs[id].held[i].l->used -= jobs[id].held[i].count;
    sched_job_remove(s, id);
    jobs[id].runs = jobs[id].pending = false;
}

static void random_job(struct sched *s, uint64_t *x, uint32_t id, const struct rres *res,
                       uint32_t n, uint32_t nodes)
{
    struct sched_lic_req req[3];
    struct sched_job j = util_job(id);
    bool tree = false;

    j.min_nodes = 1 + draw(x, nodes);
    j.max_nodes = draw(x, 3) ? j.min_nodes : nodes;
    j.num_tasks = draw(x, 2) ? j.min_nodes + draw(x, 6) : 0;
    j.contiguous = draw(x, 8) == 0;
    j.time_limit_min = 1 + draw(x, 90);
    j.licenses = req;
    for (uint32_t k = 0; k < n; k++) {
        bool second = tree && res[k].mode == 3;

        if (second || !draw(x, 2))
            continue;
        tree = tree || res[k].mode == 3;
        req[j.nlicenses++] = (struct sched_lic_req){ .name = res[k].name, .count = draw(x, 7) };
    }
    j.licenses_any = j.nlicenses > 1 && draw(x, 4) == 0;
    put(s, j);
}

static void run_case(uint32_t seed)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, wake;
    uint32_t nodes = 2 + draw(&x, 11), n = 1 + draw(&x, 3);
    struct sched_params p = { .conservative = draw(&x, 2),
                              .bf_resolution_s = 60,
                              .bf_licenses = draw(&x, 2) };
    struct sched *s = util_cluster(p, nodes, 2, 0);
    static struct rres res[3];
    static struct rjob jobs[JOBS];

    memset(res, 0, sizeof(res));
    memset(jobs, 0, sizeof(jobs));
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(res[i].name, sizeof(res[i].name), "r%u", i);
        res[i].mode = 1 + draw(&x, 3);
        if (res[i].mode == 3)
            make_tree(&res[i], &x, nodes);
        else
            make_sets(&res[i], &x, nodes);
    }
    feed_resources(s, res, n);
    for (uint32_t round = 0, id = 1; round < 10; round++) {
        int64_t now = NOW + round * 7 * MINUTE;
        struct sched_decisions d = { 0 };

        for (uint32_t k = draw(&x, 5); k && id < JOBS; k--) {
            jobs[id].pending = true;
            random_job(s, &x, id++, res, n, nodes);
        }
        assert_int_equal(sched_pass(s, now, &d, (int64_t *)&wake), 0);
        if (draw(&x, 2))
            assert_int_equal(sched_backfill(s, now, &d), 0);
        take_starts(&d, res, n, jobs);
        sched_decisions_done(&d);
        for (uint32_t k = 1; k < id; k++)
            if ((jobs[k].runs || jobs[k].pending) && draw(&x, 3) == 0)
                end_job(s, jobs, k);
    }
    for (uint32_t k = 1; k < JOBS; k++)
        if (jobs[k].runs || jobs[k].pending)
            end_job(s, jobs, k);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(sched_license_used(s, res[i].name), 0);
        for (uint32_t k = 0; k < res[i].n; k++)
            assert_int_equal(sched_license_used(s, res[i].layers[k].name), 0);
    }
    sched_free(s);
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < cases; i++)
        run_case(i);
}

/* Of one resource of mode 3 on idle nodes: as many nodes as the tree gives, and no more. */
static uint64_t most_of(const struct rres *r, uint64_t each)
{
    uint64_t most[LAYERS] = { 0 }, below[LAYERS] = { 0 };

    for (uint32_t i = 0; i < r->n; i++) {
        most[i] = MIN(most[i] + r->layers[i].n - below[i], r->layers[i].total / each);
        if (r->layers[i].parent != TOP) {
            most[r->layers[i].parent] += most[i];
            below[r->layers[i].parent] += r->layers[i].n;
        }
    }
    return most[r->n - 1];
}

static void test_feasible(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < cases / 4; i++) {
        uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15) + 3;
        uint32_t nodes = 2 + draw(&x, 11), each = 1 + draw(&x, 6), ask_nodes = 1 + draw(&x, nodes);
        struct sched *s = util_cluster((struct sched_params){ 0 }, nodes, 2, 0);
        static struct rres r;

        memset(&r, 0, sizeof(r));
        memcpy(r.name, "r0", 3);
        r.mode = 3;
        make_tree(&r, &x, nodes);
        feed_resources(s, &r, 1);
        if (r.n > 1)
            assert_int_equal(possible(s, (struct want){ "r0", each, NULL, ask_nodes, ANY }),
                             ask_nodes <= most_of(&r, each));
        sched_free(s);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_1_to_6),
        cmocka_unit_test(test_examples_7_to_9),
        cmocka_unit_test(test_examples_10_to_15),
        cmocka_unit_test(test_examples_16_to_21),
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_reconfigured),
        cmocka_unit_test(test_recovered),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_planned),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_feasible),
    };

    if (argc > 1)
        cases = (uint32_t)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
