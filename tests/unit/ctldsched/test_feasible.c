/* test_feasible.c - could a job ever run?: every kind of demand against a cluster of three makes of
 * nodes */
#include "model_util.h"

#include "conf/conf.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/idlemodel.h"
#include "ctld/submit/partrules.h"

/* n0-n3: 8 CPUs, 8000 MiB; n4-n5: 16 CPUs in 2 sockets, 32000 MiB, GPUs, fast; n6: 2 CPUs, a local
 * disk. */
static struct cluster *world(void)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);
    char name[8];

    for (uint32_t i = 0; i < 7; i++) {
        Pst__NodeRecord *n;

        (void)snprintf(name, sizeof(name), "n%u", i);
        n = put_node(tx, i, name, i < 4 ? 8 : i < 6 ? 16 : 2);
        SET(n, sockets, i < 4 || i == 6 ? 1 : 2);
        SET(n, cores_per_socket, i == 6 ? 2 : 8);
        SET(n, threads_per_core, 1);
        if (i >= 4)
            SET(n, real_memory_mib, i < 6 ? UINT64_C(32000) : UINT64_C(2000));
        if (i == 4 || i == 5) {
            n->features = tx_strdup("fast,ib");
            n->gres = tx_strdup("gpu:a100:2,gpu:v100:1,shard:8");
            SET(n, mem_spec_mib, 2000);
        }
        if (i == 6)
            SET(n, tmp_disk_mib, 5000);
    }
    put_part(tx, "all", "n[0-6]");
    put_part(tx, "small", "n[0-3]");
    put_part(tx, "empty", "");
    apply_ok(c, tx);
    return c;
}

struct want {
    uint32_t nodes, max_nodes, tasks, cpt, per_node, pn_cpus, sockets, cores, threads;
    uint64_t mem, mem_cpu, disk;
    bool overcommit;
    const char *gres, *features, *req, *exc, *prefer;
};

#define UNAVAILABLE ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE
#define TOO_MUCH ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE
static const char mem_hint[] = "Memory specification can not be satisfied";
static const char cpu_hint[] = "CPU count per node can not be satisfied";
static const char disk_hint[] = "Temporary disk specification can not be satisfied";
static const char core_hint[] = "Socket, core and/or thread specification can not be satisfied";

static const struct {
    const char *part;
    struct want want;
    int code;
    const char *hint;
} cases[] = {
    { "all", { 0 }, 0, NULL },
    { "empty", { 0 }, UNAVAILABLE, NULL },
    { "all", { .nodes = 7 }, 0, NULL },
    { "all", { .nodes = 8 }, TOO_MUCH, NULL },
    { "small", { .nodes = 4 }, 0, NULL },
    { "small", { .nodes = 5 }, TOO_MUCH, NULL },
    /* Tasks and CPUs. */
    { "all", { .tasks = 66 }, 0, NULL }, /* 4*8 + 2*16 + 2 */
    { "all", { .tasks = 67 }, TOO_MUCH, NULL },
    { "all", { .tasks = 67, .overcommit = true }, 0, NULL },
    { "all", { .tasks = 4000000000u }, TOO_MUCH, NULL },
    { "small", { .tasks = 4, .cpt = 8 }, 0, NULL },
    { "small", { .tasks = 5, .cpt = 8 }, TOO_MUCH, NULL },
    { "small",
      { .tasks = 9, .cpt = 3 },
      UNAVAILABLE,
      NULL }, /* the CPUs are there, in no way for 3 each */
    { "small", { .cpt = 9 }, UNAVAILABLE, cpu_hint },
    { "all", { .cpt = 16, .nodes = 2 }, 0, NULL },
    { "all", { .cpt = 16, .nodes = 3 }, UNAVAILABLE, NULL },
    { "all", { .cpt = 4294967295u }, UNAVAILABLE, cpu_hint },
    { "small", { .per_node = 8, .nodes = 4 }, 0, NULL },
    { "small", { .per_node = 9 }, UNAVAILABLE, cpu_hint },
    { "small", { .per_node = 1, .tasks = 4 }, 0, NULL },
    { "small", { .per_node = 1, .tasks = 5 }, UNAVAILABLE, NULL },
    { "small", { .per_node = 1, .tasks = 5, .nodes = 5 }, TOO_MUCH, NULL },
    { "small", { .per_node = 2, .tasks = 9, .cpt = 3 }, UNAVAILABLE, NULL },
    { "small", { .per_node = 2, .tasks = 9, .cpt = 4 }, TOO_MUCH, NULL },
    { "small", { .per_node = 8, .tasks = 33 }, TOO_MUCH, NULL },
    { "small", { .pn_cpus = 8 }, 0, NULL },
    { "small", { .pn_cpus = 9 }, UNAVAILABLE, cpu_hint },
    { "all", { .pn_cpus = 9, .nodes = 2 }, 0, NULL },
    /* Memory. */
    { "small", { .mem = 8000 }, 0, NULL },
    { "small", { .mem = 8001 }, UNAVAILABLE, mem_hint },
    { "all", { .mem = 30000, .nodes = 2 }, 0, NULL }, /* 2000 are the system's */
    { "all", { .mem = 30001 }, UNAVAILABLE, mem_hint },
    { "small", { .mem_cpu = 1000, .tasks = 32 }, 0, NULL },
    { "small", { .mem_cpu = 1001, .tasks = 32 }, UNAVAILABLE, NULL },
    { "small", { .mem_cpu = 4000, .tasks = 8 }, 0, NULL },
    { "small", { .mem_cpu = 4000, .tasks = 9 }, UNAVAILABLE, NULL },
    { "small", { .mem_cpu = 1001, .tasks = 33 }, TOO_MUCH, NULL },
    { "small", { .mem_cpu = 4001, .cpt = 2 }, UNAVAILABLE, mem_hint },
    { "small",
      { .mem_cpu = UINT64_C(1) << 63, .cpt = 2 },
      UNAVAILABLE,
      mem_hint }, /* the product is 2^64 */
    { "small", { .mem = UINT64_MAX }, UNAVAILABLE, mem_hint },
    { "all", { .disk = 5000 }, 0, NULL },
    { "all", { .disk = 5001 }, UNAVAILABLE, disk_hint },
    { "all", { .disk = 5000, .nodes = 2 }, UNAVAILABLE, NULL },
    /* Structure. */
    { "all", { .sockets = 2 }, 0, NULL },
    { "small", { .sockets = 2 }, UNAVAILABLE, core_hint },
    { "all", { .cores = 8, .nodes = 6 }, 0, NULL },
    { "all", { .cores = 9 }, UNAVAILABLE, core_hint },
    { "all", { .threads = 2 }, UNAVAILABLE, core_hint },
    /* GRES. */
    { "all", { .gres = "gres/gpu:1" }, 0, NULL },
    { "all", { .gres = "gpu:3", .nodes = 2 }, 0, NULL }, /* of any type */
    { "all", { .gres = "gpu:4" }, UNAVAILABLE, NULL },
    { "all", { .gres = "gpu:a100:2" }, 0, NULL },
    { "all", { .gres = "gpu:a100:3" }, UNAVAILABLE, NULL },
    { "all", { .gres = "gpu:h100:1" }, UNAVAILABLE, NULL },
    { "all", { .gres = "gpu:a100:2,gpu:v100:1,shard:8" }, 0, NULL },
    { "all", { .gres = "gpu:a100:2,shard:9" }, UNAVAILABLE, NULL },
    { "small", { .gres = "gpu:1" }, UNAVAILABLE, NULL },
    { "all", { .gres = "gpu:1", .nodes = 3 }, UNAVAILABLE, NULL },
    /* Names. */
    { "all", { .features = "fast" }, 0, NULL },
    { "all", { .features = "fast&ib" }, 0, NULL },
    { "all", { .features = "[fast|ib]" }, 0, NULL },
    { "all", { .features = "fast*2" }, 0, NULL },
    { "all", { .features = "slow" }, ESLURM_INVALID_FEATURE, NULL },
    { "all", { .features = "fast&slow" }, ESLURM_INVALID_FEATURE, NULL },
    { "all", { .features = "fas" }, ESLURM_INVALID_FEATURE, NULL },
    { "small", { .req = "n[1-2]" }, 0, NULL },
    { "small", { .req = "n4" }, UNAVAILABLE, NULL },
    { "empty", { .req = "n4" }, UNAVAILABLE, NULL },
    { "all", { .req = "nosuch" }, ESLURM_INVALID_NODE_NAME, NULL },
    { "all", { .req = "n[4-" }, ESLURM_INVALID_NODE_NAME, NULL },
    { "small", { .exc = "n[4-6]" }, 0, NULL },
    { "all", { .exc = "n0", .nodes = 7 }, UNAVAILABLE, NULL },
    { "all", { .features = "[fast|ib]", .nodes = 7 }, UNAVAILABLE, NULL },
    { "small", { .exc = "nosuch" }, ESLURM_INVALID_NODE_NAME, NULL },
    { "all", { .prefer = "fast" }, 0, NULL },
    { "all", { .prefer = "" }, 0, NULL },
    { "all", { .prefer = "nosuch" }, ESLURM_INVALID_PREFER, NULL },
    { "all", { .prefer = "[]" }, ESLURM_INVALID_PREFER, NULL },
    { "all", { .prefer = "(fast" }, ESLURM_INVALID_PREFER, NULL },
    { "all", { .prefer = "fast & ib" }, ESLURM_INVALID_PREFER, NULL },
    { "all", { .features = "fast", .prefer = "&ib" }, ESLURM_INVALID_PREFER, NULL },
    { "all", { .features = "(fast", .prefer = "ib" }, ESLURM_INVALID_FEATURE, NULL },
};

static void fill(Pst__JobRecord *r, const struct want *w)
{
#define GIVE(field, value)                                                                         \
    do {                                                                                           \
        if (value)                                                                                 \
            SET(r, field, value);                                                                  \
    } while (0)
    GIVE(min_nodes, w->nodes);
    GIVE(max_nodes, w->max_nodes);
    GIVE(num_tasks, w->tasks);
    GIVE(cpus_per_task, w->cpt);
    GIVE(ntasks_per_node, w->per_node);
    GIVE(pn_min_cpus, w->pn_cpus);
    GIVE(sockets_per_node, w->sockets);
    GIVE(cores_per_socket, w->cores);
    GIVE(threads_per_core, w->threads);
    GIVE(mem_per_node_mib, w->mem);
    GIVE(mem_per_cpu_mib, w->mem_cpu);
    GIVE(tmp_disk_mib, w->disk);
    GIVE(overcommit, w->overcommit);
    r->tres_per_node = (char *)w->gres;
    r->features = (char *)w->features;
    r->req_nodes = (char *)w->req;
    r->exc_nodes = (char *)w->exc;
    r->prefer = (char *)w->prefer;
}

static void test_table(void **state)
{
    struct cluster *c = world();
    struct feasible *f = NULL;

    (void)state;
    assert_int_equal(feasible_new(&f), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Pst__JobRecord r = PST__JOB_RECORD__INIT;
        const char *hint = NULL;
        int code;

        fill(&r, &cases[i].want);
        code = feasible_check(f, c, cluster_partition(c, cases[i].part), &r, true, &hint);
        if (code != cases[i].code)
            print_error("# row %zu: %s\n", i, slurm_err_text(code));
        assert_int_equal(code, cases[i].code);
        if (cases[i].hint)
            assert_string_equal(hint, cases[i].hint);
    }
    feasible_free(f);
    cluster_free(c);
}

/* Where memory is no resource, nobody is refused for it. */
static void test_memory_does_not_count(void **state)
{
    struct cluster *c = world();
    struct feasible *f = NULL;
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    const char *hint;

    (void)state;
    assert_int_equal(feasible_new(&f), 0);
    SET(&r, mem_per_node_mib, 999999);
    SET(&r, mem_per_cpu_mib, 999999);
    assert_int_equal(feasible_check(f, c, cluster_partition(c, "small"), &r, false, &hint), 0);
    feasible_free(f);
    cluster_free(c);
}

/* Nodes come, go and change: the classes are made anew, also beyond the first few ids. */
static void test_changes(void **state)
{
    struct cluster *c = world();
    struct feasible *f = NULL;
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    const struct partition *all = cluster_partition(c, "all");
    const char *hint;
    Pst__Transaction *tx;
    char name[16];

    (void)state;
    assert_int_equal(feasible_new(&f), 0);
    SET(&r, cpus_per_task, 64);
    assert_int_equal(feasible_check(f, c, all, &r, true, &hint), UNAVAILABLE);
    tx = tx_new(T0);
    SET(tx_node_patch(tx, EV(NODE_CONFIG), 6), cpus, 64);
    apply_ok(c, tx);
    feasible_invalidate(f);
    assert_int_equal(feasible_check(f, c, all, &r, true, &hint), 0);
    tx = tx_new(T0);
    tx_node_remove(tx, 6);
    for (uint32_t i = 20; i < 60; i++) { /* nodes of no partition: the tables of ids grow */
        (void)snprintf(name, sizeof(name), "x%u", i);
        put_node(tx, i, name, 64);
    }
    apply_ok(c, tx);
    feasible_invalidate(f);
    assert_int_equal(feasible_check(f, c, all, &r, true, &hint), UNAVAILABLE);
    r.cpus_per_task = 16;
    assert_int_equal(feasible_check(f, c, all, &r, true, &hint), 0);
    r.req_nodes = (char *)"x59";
    assert_int_equal(feasible_check(f, c, all, &r, true, &hint), UNAVAILABLE);
    assert_null(feasible_free(NULL));
    feasible_free(f);
    cluster_free(c);
}

/* What no sum over nodes tells: selection is asked. */
static const struct {
    const char *part;
    struct want want;
    bool placed;
} exact[] = {
    { "all", { .tasks = 8 }, true },
    { "all", { .nodes = 2, .max_nodes = 2, .tasks = 32 }, true },
    { "all", { .nodes = 2, .max_nodes = 2, .tasks = 33 }, false },
    { "small", { .nodes = 1, .max_nodes = 1, .tasks = 9 }, false },
    { "small", { .nodes = 3, .max_nodes = 3, .per_node = 3, .tasks = 10 }, false },
    { "small", { .exc = "n[0-3]" }, false },
    { "small", { .nodes = 2, .max_nodes = 2, .exc = "n[0-2]" }, false },
    { "all", { .features = "fast", .req = "n4" }, true },
    { "all", { .features = "fast", .req = "n0" }, false },
    { "all", { .gres = "gpu:1", .req = "n0" }, false },
    { "all", { .gres = "gpu:1", .req = "n5", .nodes = 2, .max_nodes = 2 }, true },
};

static void test_exactly(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\n"
                               "SelectTypeParameters=CR_Core_Memory\nGresTypes=gpu,shard\n"
                               "NodeName=n0 CPUs=1\nPartitionName=all Nodes=n0\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };
    struct ctld ctld = { .cluster = world() };
    struct feasible *f = NULL;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &ctld.conf, NULL, NULL), 0);
    assert_int_equal(feasible_new(&f), 0);
    for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
        const struct partition *p = cluster_partition(ctld.cluster, exact[i].part);
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        fill(&r, &exact[i].want);
        r.partition = (char *)exact[i].part;
        if (feasible_exactly(f, &ctld, p, &r, true) != exact[i].placed)
            fail_msg("row %zu", i);
    }
    feasible_free(f);
    conf_free(ctld.conf);
    cluster_free(ctld.cluster);
}

/* What is told of nodes and partitions is seen by the next question. */
static void test_idle_changes(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\n"
                               "NodeName=n0 CPUs=1\nPartitionName=all Nodes=n0\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };
    struct ctld ctld = { .cluster = world() };
    const struct partition *p = cluster_partition(ctld.cluster, "all");
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    struct idlemodel *m = NULL;
    Pst__Transaction *tx;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &ctld.conf, NULL, NULL), 0);
    assert_int_equal(idlemodel_new(&m), 0);
    r.partition = (char *)"all";
    SET(&r, min_nodes, 1);
    SET(&r, max_nodes, 1);
    SET(&r, cpus_per_task, 32);
    assert_false(idlemodel_places(m, &ctld, p, &r));
    tx = tx_new(T0);
    SET(tx_node_patch(tx, EV(NODE_CONFIG), 3), cpus, 32);
    SET(tx_node_patch(tx, EV(NODE_CONFIG), 3), cores_per_socket, 32);
    apply_ok(ctld.cluster, tx);
    idlemodel_node(m, 3);
    assert_true(idlemodel_places(m, &ctld, p, &r));
    tx = tx_new(T0);
    tx_part_patch(tx, EV(PART_UPDATE), "all")->nodes = tx_strdup("n[4-5]");
    apply_ok(ctld.cluster, tx);
    idlemodel_parts(m);
    assert_false(idlemodel_places(m, &ctld, p, &r));
    idlemodel_forget(m);
    assert_false(idlemodel_places(m, &ctld, p, &r));
    tx = tx_new(T0);
    put_node(tx, 90, "n90", 64);
    tx_part_patch(tx, EV(PART_UPDATE), "all")->nodes = tx_strdup("n[0-6],n90");
    apply_ok(ctld.cluster, tx);
    idlemodel_node(m, 90);
    idlemodel_parts(m);
    assert_true(idlemodel_places(m, &ctld, p, &r));
    assert_null(idlemodel_free(NULL));
    idlemodel_free(m);
    conf_free(ctld.conf);
    cluster_free(ctld.cluster);
}

static const struct {
    struct want want;
    uint32_t minutes, least_minutes;
    int code;
} ruled[] = {
    { { .nodes = 2, .max_nodes = 2 }, 30, 0, 0 },
    { { .nodes = 1, .max_nodes = 1 }, 30, 0, ESLURM_INVALID_NODE_COUNT },
    { { .nodes = 1 }, 30, 0, 0 },
    { { .nodes = 4, .max_nodes = 4 }, 30, 0, ESLURM_INVALID_NODE_COUNT },
    { { .nodes = 2 }, 31, 0, ESLURM_INVALID_TIME_LIMIT },
    { { .nodes = 2 }, 90, 30, 0 },
    { { .nodes = 2 }, 90, 31, ESLURM_INVALID_TIME_LIMIT },
    { { .nodes = 2, .mem = 4000 }, 1, 0, 0 },
    { { .nodes = 2, .mem = 4001 }, 1, 0, ESLURM_INVALID_TASK_MEMORY },
    { { .nodes = 2, .mem_cpu = 1001, .cpt = 4 }, 1, 0, ESLURM_INVALID_TASK_MEMORY },
    { { .tasks = 32 }, 1, 0, 0 },
    { { .tasks = 33 }, 1, 0, ESLURM_TOO_MANY_REQUESTED_CPUS },
    { { .tasks = 33, .overcommit = true }, 1, 0, 0 },
    { { .req = "n0,n4" }, 1, 0, ESLURM_REQUESTED_NODES_NOT_IN_PARTITION },
};

/* n0-n3, two or three of them for half an hour with 4000 MiB each */
static void test_partrules(void **state)
{
    static const char text[] = "ClusterName=c\nSlurmctldHost=h\nEnforcePartLimits=ANY\n"
                               "NodeName=n0 CPUs=1\nPartitionName=all Nodes=n0\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };
    struct ctld ctld = { .cluster = world() };
    const struct partition *p = cluster_partition(ctld.cluster, "small");
    Pst__JobRecord none = PST__JOB_RECORD__INIT;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &ctld.conf, NULL, NULL), 0);
    assert_int_equal(partrules_enforced(ctld.conf), PART_ENFORCE_ANY);
    SET(p->rec, min_nodes, 2);
    SET(p->rec, max_nodes, 3);
    SET(p->rec, max_time_min, 30);
    SET(p->rec, max_mem_per_node_mib, 4000);
    for (size_t i = 0; i < ARRAY_SIZE(ruled); i++) {
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        fill(&r, &ruled[i].want);
        SET(&r, time_limit_min, ruled[i].minutes);
        if (ruled[i].least_minutes)
            SET(&r, time_min_min, ruled[i].least_minutes);
        if (partrules_check(&ctld, p, &r) != ruled[i].code)
            fail_msg("row %zu: %d", i, partrules_check(&ctld, p, &r));
    }
    SET(p->rec, max_cpus_per_node, 7);
    p->rec->exclusive = tx_strdup("NODE");
    assert_int_equal(partrules_check(&ctld, p, &none), ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE);
    conf_free(ctld.conf);
    cluster_free(ctld.cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),        cmocka_unit_test(test_memory_does_not_count),
        cmocka_unit_test(test_changes),      cmocka_unit_test(test_exactly),
        cmocka_unit_test(test_idle_changes), cmocka_unit_test(test_partrules),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
