/* test_sched.c - the scheduler, case by case: layouts, reasons, order, planning */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)

static const char *const part_main[] = { "main" };

/* Four nodes of 2 sockets x 4 cores x 2 threads; in a GPU cluster n2 and n3 have two GPUs and four
 * shards. */
static const struct sched_gres_spec gpus[] = {
    { .name = "gpu", .type = "a100", .count = 2, .indexed = true },
    { .name = "shard", .count = 4 },
};

static struct sched_node node(uint32_t id)
{
    static const char *const features[] = { "intel,ib", "intel", "amd,ib", "amd" };

    return (struct sched_node){ .id = id,
                                .name = "n",
                                .cpus = 16,
                                .sockets = 2,
                                .cores_per_socket = 4,
                                .threads_per_core = 2,
                                .mem_mib = 16000,
                                .weight = 1,
                                .schedulable = true,
                                .features = features[id % 4] };
}

static struct sched_partition partition(const char *name)
{
    static const uint32_t ids[] = { 0, 1, 2, 3 };

    return (struct sched_partition){ .name = name,
                                     .node_ids = ids,
                                     .nnodes = 4,
                                     .tier = 1,
                                     .job_factor = 1,
                                     .up = true,
                                     .max_time_min = SCHED_UNLIMITED,
                                     .max_nodes = SCHED_UNLIMITED };
}

static struct sched *cluster_with(struct sched_params params)
{
    struct sched *s = NULL;
    const struct sched_partition p = partition("main");

    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < 4; i++) {
        const struct sched_node n = node(i);

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    assert_int_equal(sched_partition_put(s, &p), 0);
    return s;
}

static struct sched_params params(void)
{
    return (struct sched_params){
        .select = SCHED_SELECT_CORE, .select_memory = true, .backfill = true, .bf_window_min = 1440
    };
}

static struct sched *cluster(void)
{
    return cluster_with(params());
}

static struct sched *gpu_cluster(void)
{
    struct sched *s = cluster();

    for (uint32_t i = 2; i < 4; i++) {
        struct sched_node n = node(i);

        n.gres = gpus;
        n.ngres = ARRAY_SIZE(gpus);
        assert_int_equal(sched_node_put(s, &n), 0);
    }
    return s;
}

static struct sched_job job(uint32_t id)
{
    return (struct sched_job){ .id = id,
                               .partitions = part_main,
                               .npartitions = 1,
                               .submit_us = NOW,
                               .eligible_us = NOW,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .cpus_per_task = 1 };
}

static void put(struct sched *s, struct sched_job j)
{
    assert_int_equal(sched_job_put(s, &j), 0);
}

/* ---- what a decision says, in a line --------------------------------------------------------- */

static void list_bits(struct strbuf *sb, const uint64_t *words, uint32_t n)
{
    const char *sep = "";

    for (uint32_t i = 0, k; i < n * 64; i++) {
        if (!(words[i / 64] >> i % 64 & 1))
            continue;
        for (k = i; k + 1 < n * 64 && (words[(k + 1) / 64] >> (k + 1) % 64 & 1);)
            k++;
        strbuf_addf(sb, k > i ? "%s%u-%u" : "%s%u", sep, i, k);
        sep = ",";
        i = k;
    }
}

static void list_alloc(struct strbuf *sb, const struct sched_alloc *a)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct sched_alloc_node *an = &a->nodes[i];

        strbuf_addf(sb, " n%u[", an->node_id);
        list_bits(sb, an->cpu_bits, an->ncpu_words);
        strbuf_addf(sb, "]t%u", an->tasks);
        if (an->mem_mib)
            strbuf_addf(sb, "m%llu", (unsigned long long)an->mem_mib);
        for (size_t g = 0; g < an->ngres; g++) {
            strbuf_addf(sb, " %s:%llu", an->gres[g].name, (unsigned long long)an->gres[g].count);
            if (an->gres[g].devices) {
                strbuf_addc(sb, '(');
                list_bits(sb, an->gres[g].devices, an->gres[g].ndevice_words);
                strbuf_addc(sb, ')');
            }
        }
    }
}

static void describe(struct strbuf *sb, const struct sched_decision *d)
{
    static const char *const whys[] = { "None",        "Priority",  "Resources", "PartDown",
                                        "NodeLimit",   "TimeLimit", "NotAvail",  "Constraints",
                                        "Unavailable", "BeginTime" };

    if (d->kind == SCHED_START) {
        strbuf_addf(sb, "%u:%s", d->job_id, d->partition);
        list_alloc(sb, &d->alloc);
        if (d->time_limit_min)
            strbuf_addf(sb, " limit=%u", d->time_limit_min);
    } else {
        strbuf_addf(sb, "%u:%s", d->job_id, whys[d->why]);
        if (d->expected_us) {
            strbuf_addf(sb, "@%lld", (long long)((d->expected_us - NOW) / MINUTE));
            for (size_t i = 0; i < d->nexpected; i++)
                strbuf_addf(sb, "%sn%u", i ? "," : ":", d->expected_nodes[i]);
        }
    }
    strbuf_addc(sb, ';');
}

static int64_t wake;

/* Run a pass (or backfill) at NOW + minutes and hold its decisions against text. */
static void expect(struct sched *s, bool backfill, int64_t minutes, const char *text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t now_us = NOW + minutes * MINUTE;

    assert_int_equal(backfill ? sched_backfill(s, now_us, &d) : sched_pass(s, now_us, &d, &wake),
                     0);
    for (size_t i = 0; i < d.n; i++)
        describe(&sb, &d.items[i]);
    assert_string_equal(strbuf_str(&sb), text);
}

/* ---- layouts --------------------------------------------------------------------------------- */

#define GRES(...) .gres = (const struct sched_gres_req[]){ { __VA_ARGS__ } }, .ngres = 1
#define COUNTS(...) .node_counts = (const uint32_t[]){ __VA_ARGS__ }, .nnode_counts = 2
#define J(...)                                                                                     \
    {                                                                                              \
        .id = 1, .partitions = part_main, .npartitions = 1, .submit_us = NOW, .eligible_us = NOW,  \
        .time_limit_min = 10, .min_nodes = 1, .cpus_per_task = 1, .mem_per_cpu_mib = 100,          \
        __VA_ARGS__                                                                                \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct {
    struct sched_job job;
    const char *text;
} layouts[] = {
    { J(.num_tasks = 1), "1:main n0[0-1]t1m200;" },
    { J(.num_tasks = 3), "1:main n0[0-1,8-9]t3m400;" },
    { J(.num_tasks = 3, .threads_per_core = 1), "1:main n0[0-3,8-9]t3m300;" },
    { J(.num_tasks = 3, .ntasks_per_core = 1), "1:main n0[0-3,8-9]t3m600;" },
    { J(.num_tasks = 1, .cpus_per_task = 3, .mem_per_cpu_mib = 150), "1:main n0[0-3]t1m600;" },
    { J(.num_tasks = 3, .cpus_per_task = 2, .mem_per_cpu_mib = 50), "1:main n0[0-5]t3m300;" },
    { J(.exclusive = true), "1:main n0[0-15]t1m1600;" },
    { J(.exclusive = true, .has_mem_per_node = true), "1:main n0[0-15]t1m16000;" },
    { J(.num_tasks = 5, .min_nodes = 2, .max_nodes = 2),
      "1:main n0[0-1,8-9]t3m400 n1[0-1]t2m200;" },
    { J(.num_tasks = 8, .min_nodes = 2, .max_nodes = 4),
      "1:main n0[0-1,8-9]t2m400 n1[0-1]t2m200 n2[0-1]t2m200 n3[0-1]t2m200;" },
    { J(.num_tasks = 6, .cpus_per_task = 2, .min_nodes = 2, .max_nodes = 2),
      "1:main n0[0-9]t5m1000 n1[0-1]t1m200;" },
    { J(.min_nodes = 2, .max_nodes = 2, .ntasks_per_node = 3),
      "1:main n0[0-3]t3m400 n1[0-3]t3m400;" },
    { J(.num_tasks = 8, .max_nodes = 3, COUNTS(1, 3)),
      "1:main n0[0-1,8-9]t4m400 n1[0-1]t2m200 n2[0-1]t2m200;" },
    { J(.num_tasks = 8, .max_nodes = 3, .use_min_nodes = true, COUNTS(1, 3)),
      "1:main n0[0-3,8-11]t8m800;" },
    { J(.num_tasks = 20, .max_nodes = 8, COUNTS(2, 8)),
      "1:main n0[0-15]t16m1600 n1[0-1,8-9]t4m400;" },
    { J(.num_tasks = 40, .max_nodes = 8, COUNTS(2, 8)), "1:Constraints;" },
    { J(.num_tasks = 4, .spread = true),
      "1:main n0[0-1]t1m200 n1[0-1]t1m200 n2[0-1]t1m200 n3[0-1]t1m200;" },
    { J(.num_tasks = 1, .pn_min_cpus = 12), "1:main n0[0-1]t1m200;" },
    { J(.num_tasks = 17), "1:main n0[0-15]t15m1600 n1[0-1]t2m200;" },
    { J(.num_tasks = 2, .overcommit = true, .cpus_per_task = 2), "1:main n0[0-1]t2m200;" },
    { J(.num_tasks = 4, .ntasks_per_socket = 1), "1:main n0[0-1]t2m200 n1[0-1]t2m200;" },
    { J(.num_tasks = 1, .features = "amd"), "1:main n2[0-1]t1m200;" },
    { J(.num_tasks = 1, .features = "amd&!ib"), "1:main n3[0-1]t1m200;" },
    { J(.num_tasks = 2, .min_nodes = 2, .features = "[amd|intel]&ib"), "1:Constraints;" },
    { J(.num_tasks = 2, .min_nodes = 2, .features = "(amd|intel)&ib"),
      "1:main n0[0-1]t1m200 n2[0-1]t1m200;" },
    { J(.num_tasks = 2, .min_nodes = 2, .features = "[amd*1&intel*1]"),
      "1:main n0[0-1]t1m200 n2[0-1]t1m200;" },
    { J(.num_tasks = 3, .features = "[amd*1&intel*2]"),
      "1:main n0[0-1]t1m200 n1[0-1]t1m200 n2[0-1]t1m200;" },
    { J(.num_tasks = 3, .features = "[amd*1&intel*3]"), "1:Constraints;" },
    { J(.num_tasks = 1, .req_nodes = (const uint32_t[]){ 3 }, .nreq = 1), "1:main n3[0-1]t1m200;" },
    { J(.num_tasks = 2, .req_nodes = (const uint32_t[]){ 3, 1 }, .nreq = 2),
      "1:main n1[0-1]t1m200 n3[0-1]t1m200;" },
    { J(.min_nodes = 2, .max_nodes = 2, .req_nodes = (const uint32_t[]){ 1 }, .nreq = 1),
      "1:main n1[0-1]t1m200 n2[0-1]t1m200;" }, /* the one behind it */
    { J(.min_nodes = 2, .max_nodes = 2, .req_nodes = (const uint32_t[]){ 3 }, .nreq = 1),
      "1:main n2[0-1]t1m200 n3[0-1]t1m200;" },
    { J(.min_nodes = 2, .max_nodes = 2, .req_nodes = (const uint32_t[]){ 1, 2, 3 }, .nreq = 3),
      "1:main n1[0-1]t1m200 n2[0-1]t1m200;" }, /* more than asked for: a choice */
    { J(.min_nodes = 2, .max_nodes = 2, .contiguous = true, .req_nodes = (const uint32_t[]){ 0, 2 },
        .nreq = 2),
      "1:main n0[0-1]t1m200 n1[0-1]t1m200;" },
    { J(.num_tasks = 1, .exc_nodes = (const uint32_t[]){ 0, 1 }, .nexc = 2),
      "1:main n2[0-1]t1m200;" },
    { J(.min_nodes = 3, .contiguous = true, .exc_nodes = (const uint32_t[]){ 1 }, .nexc = 1),
      "1:Constraints;" },
    { J(.min_nodes = 2, .contiguous = true, .exc_nodes = (const uint32_t[]){ 1 }, .nexc = 1),
      "1:main n2[0-1]t1m200 n3[0-1]t1m200;" },
    { J(.min_nodes = 2, .exc_nodes = (const uint32_t[]){ 1 }, .nexc = 1),
      "1:main n2[0-1]t1m200 n3[0-1]t1m200;" },
    { J(.num_tasks = 1, GRES(.name = "gpu", .per_node = 1)), "1:main n2[0-1]t1m200 gpu:1(0);" },
    { J(.min_nodes = 2, .max_nodes = 2, .num_tasks = 2, GRES(.name = "gpu", .per_job = 3)),
      "1:main n2[0-1]t1m200 gpu:2(0-1) n3[0-1]t1m200 gpu:1(0);" },
    { J(.num_tasks = 4, GRES(.name = "gpu", .type = "a100", .per_task = 1)),
      "1:main n2[8-9]t2m200 gpu:2(0-1) n3[8-9]t2m200 gpu:2(0-1);" },
    { J(.num_tasks = 1, GRES(.name = "gpu", .type = "h100", .per_node = 1)), "1:Constraints;" },
    { J(.num_tasks = 1, GRES(.name = "shard", .per_node = 3)), "1:main n2[0-1]t1m200 shard:3;" },
    { J(.num_tasks = 1, .exclusive = true, GRES(.name = "gpu", .per_node = 1)),
      "1:main n2[0-15]t1m1600 gpu:2(0-1) shard:4;" },
    { J(.num_tasks = 1, .min_sockets = 2, .min_cores_per_socket = 5), "1:Constraints;" },
    { J(.num_tasks = 1, .threads_per_core = 4), "1:Constraints;" },
    { J(.num_tasks = 1, .mem_per_cpu_mib = 9000), "1:Constraints;" },
    { J(.num_tasks = 1, .has_mem_per_node = true, .mem_per_node_mib = 16001), "1:Constraints;" },
    { J(.min_nodes = 5), "1:Constraints;" },
    { J(.num_tasks = 65), "1:Constraints;" },
};
#pragma GCC diagnostic pop

static void test_layouts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
        struct sched *s = gpu_cluster();
        enum sched_why why;
        bool ok = strcmp(layouts[i].text, "1:Constraints;") != 0;

        assert_int_equal(sched_feasible(s, &layouts[i].job, &why), ok);
        assert_int_equal(why, ok ? SCHED_WHY_NONE : SCHED_WHY_BAD_CONSTRAINTS);
        put(s, layouts[i].job);
        expect(s, false, 0, layouts[i].text);
        expect(s, false, 1, ""); /* told once */
        sched_free(s);
    }
}

static const struct {
    enum sched_select select;
    uint32_t tasks, cpus;
    const char *text;
} selects[] = {
    { SCHED_SELECT_CPU, 1, 1, "1:main n0[0-1]t1;" },
    { SCHED_SELECT_CPU, 3, 1, "1:main n0[0-3]t3;" },
    { SCHED_SELECT_CPU, 1, 3, "1:main n0[0-3]t1;" },
    { SCHED_SELECT_SOCKET, 1, 1, "1:main n0[0-7]t1;" },
    { SCHED_SELECT_SOCKET, 9, 1, "1:main n0[0-15]t9;" },
    { SCHED_SELECT_LINEAR, 1, 1, "1:main n0[0-15]t1;" },
};

static void test_selects(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(selects); i++) {
        struct sched_params p = params();
        struct sched_job j = job(1);
        struct sched *s;

        p.select = selects[i].select;
        s = cluster_with(p);
        j.num_tasks = selects[i].tasks;
        j.cpus_per_task = selects[i].cpus;
        put(s, j);
        expect(s, false, 0, selects[i].text);
        sched_free(s);
    }
}

/* Where the CPUs count cores, a CPU is a core. */
static void test_cpus_as_cores(void **state)
{
    struct sched *s = cluster();
    struct sched_node n = node(0);
    struct sched_job j = job(1);

    (void)state;
    n.cpus = 8;
    assert_int_equal(sched_node_put(s, &n), 0);
    j.num_tasks = 3;
    put(s, j);
    expect(s, false, 0, "1:main n0[0-1,4]t3;");
    sched_free(s);
}

/* ---- choice of nodes ------------------------------------------------------------------------- */

static void test_weight_and_lln(void **state)
{
    struct sched_params p = params();
    struct sched_node n = node(0);
    struct sched *s;

    (void)state;
    n.weight = 5;
    s = cluster();
    assert_int_equal(sched_node_put(s, &n), 0);
    put(s, job(1));
    expect(s, false, 0, "1:main n1[0-1]t1;");
    sched_free(s);

    p.lln = true;
    s = cluster_with(p);
    put(s, job(1));
    put(s, job(2));
    expect(s, false, 0, "1:main n0[0-1]t1;2:main n1[0-1]t1;");
    sched_free(s);
}

/* The smallest run of adjacent nodes that holds the job is taken, the larger one kept. */
static void test_best_run(void **state)
{
    static const uint32_t busy[] = { 1, 4 };
    struct sched *s = cluster();
    uint32_t ids[10];
    struct sched_partition p = partition("main");
    struct sched_job j = job(9);

    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        const struct sched_node n = node(i);

        ids[i] = i;
        assert_int_equal(sched_node_put(s, &n), 0);
    }
    p.node_ids = ids;
    p.nnodes = 10;
    assert_int_equal(sched_partition_put(s, &p), 0);
    for (uint32_t i = 0; i < 2; i++) {
        j.id = i + 1;
        j.exclusive = true;
        j.req_nodes = &busy[i];
        j.nreq = 1;
        put(s, j);
    }
    expect(s, false, 0, "1:main n1[0-15]t1;2:main n4[0-15]t1;");
    j = job(3);
    j.min_nodes = 2;
    put(s, j);
    expect(s, false, 0, "3:main n2[0-1]t1 n3[0-1]t1;"); /* runs: 0, 2-3, 5-9 */
    sched_free(s);
}

static void test_sharing(void **state)
{
    struct sched *s = cluster();
    struct sched_partition p = partition("main");
    struct sched_job j = job(1);
    const uint32_t zero = 0;

    (void)state;
    p.oversubscribe = 2;
    assert_int_equal(sched_partition_put(s, &p), 0);
    j.num_tasks = 16;
    j.req_nodes = &zero;
    j.nreq = 1;
    j.max_nodes = 1;
    j.oversubscribe = true;
    for (j.id = 1; j.id <= 3; j.id++)
        put(s, j);
    expect(s, false, 0, "1:main n0[0-15]t16;2:main n0[0-15]t16;3:Resources;");
    sched_job_remove(s, 1);
    j.id = 4;
    j.oversubscribe = false; /* does not share with others, nor they with it */
    put(s, j);
    expect(s, false, 0, "3:main n0[0-15]t16;4:Resources;");
    sched_free(s);
}

static void test_cpu_quota(void **state)
{
    struct sched *s = cluster();
    struct sched_partition p = partition("main");

    (void)state;
    p.max_cpus_per_node = 4;
    assert_int_equal(sched_partition_put(s, &p), 0);
    for (uint32_t i = 1; i <= 9; i++)
        put(s, job(i));
    expect(s, false, 0,
           "1:main n0[0-1]t1;2:main n0[2-3]t1;3:main n1[0-1]t1;4:main n1[2-3]t1;5:main n2[0-1]t1;"
           "6:main n2[2-3]t1;7:main n3[0-1]t1;8:main n3[2-3]t1;9:Resources;");
    sched_free(s);
}

/* ---- reasons and order ----------------------------------------------------------------------- */

/* Jobs of the partition share the first CPUs of each socket. */
static void test_socket_quota(void **state)
{
    struct sched *s = cluster();
    struct sched_partition p = partition("main");
    struct sched_job two = job(1), wide = job(6), whole = job(7);

    (void)state;
    p.max_cpus_per_socket = 5; /* two whole cores */
    assert_int_equal(sched_partition_put(s, &p), 0);
    two.num_tasks = 7;
    put(s, two);
    for (uint32_t i = 2; i <= 3; i++)
        put(s, job(i));
    wide.num_tasks = 9;
    wide.max_nodes = 1;
    put(s, wide);
    whole.exclusive = true;
    put(s, whole);
    expect(s, false, 0,
           "1:main n0[0-3,8-11]t7;2:main n1[0-1]t1;3:main n1[2-3]t1;6:Constraints;7:Constraints;");
    sched_free(s);
}

static void test_reasons(void **state)
{
    struct sched *s = cluster();
    struct sched_partition p = partition("small"), closed = partition("closed");
    struct sched_node n = node(3);
    const char *const small[] = { "small" }, *const shut[] = { "closed" };
    const uint32_t three = 3;
    struct sched_job j;

    (void)state;
    p.max_nodes = 1;
    p.max_time_min = 60;
    closed.up = false;
    assert_int_equal(sched_partition_put(s, &p), 0);
    assert_int_equal(sched_partition_put(s, &closed), 0);
    n.schedulable = false;
    assert_int_equal(sched_node_put(s, &n), 0);
    j = job(1);
    j.partitions = small;
    j.time_limit_min = 61;
    put(s, j);
    j = job(2);
    j.partitions = small;
    j.min_nodes = 2;
    put(s, j);
    j = job(3);
    j.partitions = shut;
    put(s, j);
    j = job(4);
    j.req_nodes = &three;
    j.nreq = 1;
    put(s, j);
    j = job(5);
    j.min_nodes = 4;
    put(s, j);
    j = job(6);
    j.eligible_us = NOW + 5 * MINUTE;
    put(s, j);
    j = job(7);
    j.eligible_us = INT64_MAX; /* held: not our business */
    put(s, j);
    expect(s, false, 0, "1:TimeLimit;2:NodeLimit;3:PartDown;4:NotAvail;5:Unavailable;6:BeginTime;");
    assert_int_equal(wake, NOW + 5 * MINUTE);
    expect(s, false, 4, "");
    expect(s, true, 4, "");
    expect(s, false, 5, "6:main n0[0-1]t1;");
    assert_int_equal(wake, INT64_MAX);
    n.schedulable = true; /* back: now they wait for resources only, or start */
    assert_int_equal(sched_node_put(s, &n), 0);
    expect(s, false, 6, "4:main n3[0-1]t1;5:main n0[2-3]t1 n1[0-1]t1 n2[0-1]t1 n3[2-3]t1;");
    closed.up = true;
    assert_int_equal(sched_partition_put(s, &closed), 0);
    expect(s, false, 6, "3:closed n0[4-5]t1;");
    assert_int_equal(sched_pending(s), 3);
    sched_free(s);
}

static void fill(struct sched *s, uint32_t id, uint32_t nodes, uint32_t minutes)
{
    struct sched_job j = job(id);

    j.min_nodes = j.max_nodes = nodes;
    j.exclusive = true;
    j.time_limit_min = minutes;
    put(s, j);
}

static void test_order(void **state)
{
    struct sched *s = cluster();
    struct sched_job j;

    (void)state;
    fill(s, 1, 3, 10);
    expect(s, false, 0, "1:main n0[0-15]t1 n1[0-15]t1 n2[0-15]t1;");
    fill(s, 2, 2, 10); /* blocks */
    put(s, job(3));    /* would fit, but is behind */
    expect(s, false, 0, "2:Resources;3:Priority;");
    j = job(4);
    j.priority = UINT32_MAX;
    put(s, j);
    expect(s, false, 0, "4:main n3[0-1]t1;");
    j = job(5);
    j.min_nodes = 2;
    j.priority = UINT32_MAX; /* the new head; the old one is told */
    put(s, j);
    expect(s, false, 0, "5:Resources;2:Priority;");
    assert_int_equal(sched_job_priority(s, 5), UINT32_MAX);
    assert_int_equal(sched_job_priority(s, 3), 4294901758u);
    sched_job_remove(s, 1);
    expect(s, false, 1, "5:main n0[0-1]t1 n1[0-1]t1;2:Resources;");
    sched_job_refused(s, 5);
    expect(s, false, 1, "5:main n0[0-1]t1 n1[0-1]t1;");
    sched_job_remove(s, 5);
    expect(s, false, 1, "2:main n0[0-15]t1 n1[0-15]t1;3:main n2[0-1]t1;");
    sched_free(s);
}

/* A blocked partition keeps its nodes from lower ones that share them; others go on. */
static void test_partitions(void **state)
{
    struct sched *s = cluster();
    struct sched_partition low = partition("low"), apart = partition("apart");
    const char *const names[] = { "low", "apart" }, *const both[] = { "main", "apart" };
    struct sched_job j;
    const uint32_t two[] = { 0, 1 }, rest[] = { 2, 3 };
    struct sched_partition p = partition("main");

    (void)state;
    p.node_ids = two;
    p.nnodes = 2;
    p.tier = 2;
    apart.node_ids = rest;
    apart.nnodes = 2;
    assert_int_equal(sched_partition_put(s, &p), 0);
    assert_int_equal(sched_partition_put(s, &low), 0);
    assert_int_equal(sched_partition_put(s, &apart), 0);
    fill(s, 1, 1, 10);
    fill(s, 2, 2, 10);
    j = job(3);
    j.partitions = names; /* all nodes, but 0 and 1 are kept */
    put(s, j);
    j = job(4);
    j.partitions = names;
    j.min_nodes = 3;
    put(s, j);
    j = job(5);
    j.partitions = names + 1;
    put(s, j);
    j = job(6);
    j.partitions = both;
    j.npartitions = 2;
    put(s, j);
    expect(s, false, 0,
           "1:main n0[0-15]t1;3:low n2[0-1]t1;"
           "2:Resources;4:Unavailable;5:Unavailable;6:Priority;");
    /* the head of main waits for 1 to end; what ends by then may use the node it needs */
    expect(s, true, 0,
           "6:main n1[0-1]t1;4:low n1[2-3]t1 n2[2-3]t1 n3[0-1]t1;5:apart "
           "n2[4-5]t1;2:Resources@10:n0,n1;");
    sched_free(s);
}

static void test_multifactor(void **state)
{
    struct sched_params p = params();
    struct sched *s;
    struct sched_job j;

    (void)state;
    p.multifactor = true;
    p.weight_age = 1000;
    p.max_age_s = 600;
    p.weight_job_size = 1000;
    p.weight_partition = 100;
    s = cluster_with(p);
    fill(s, 1, 4, 60);
    expect(s, false, 0, "1:main n0[0-15]t1 n1[0-15]t1 n2[0-15]t1 n3[0-15]t1;");
    j = job(2);
    j.nice = 50;
    put(s, j);
    j = job(3);
    j.num_tasks = 64;
    j.min_nodes = 4;
    put(s, j);
    expect(s, false, 0, "2:Priority;3:Resources;");
    assert_int_equal(sched_job_priority(s, 2), 182); /* 1000 * (1/4 + 1/64) / 2 + 100 - 50 */
    assert_int_equal(sched_job_priority(s, 3), 1100);
    expect(s, false, 5, ""); /* half the age at five minutes */
    assert_int_equal(sched_job_priority(s, 3), 1600);
    sched_free(s);
}

static void test_queue_depth(void **state)
{
    struct sched_params p = params();
    struct sched *s;

    (void)state;
    p.default_queue_depth = 2;
    s = cluster_with(p);
    for (uint32_t i = 1; i <= 3; i++)
        put(s, job(i));
    expect(s, false, 0, "1:main n0[0-1]t1;2:main n0[2-3]t1;");
    assert_int_equal(wake, NOW); /* at once, for the rest */
    expect(s, false, 0, "3:main n0[4-5]t1;");
    assert_int_equal(wake, INT64_MAX);
    sched_free(s);
}

/* ---- backfill and planning ------------------------------------------------------------------- */

static void test_backfill(void **state)
{
    struct sched *s = cluster();
    struct sched_job j;

    (void)state;
    fill(s, 1, 3, 30);
    fill(s, 2, 4, 10); /* at 30 */
    j = job(3);
    j.time_limit_min = 30; /* just ends in time */
    put(s, j);
    j = job(4);
    j.time_limit_min = 31;
    put(s, j);
    j = job(5);
    j.time_limit_min = 60;
    j.time_min_min = 20; /* can be shortened to 30 */
    put(s, j);
    expect(s, false, 0,
           "1:main n0[0-15]t1 n1[0-15]t1 n2[0-15]t1;2:Resources;3:Priority;4:Priority;5:Priority;");
    expect(s, true, 0, "3:main n3[0-1]t1;5:main n3[2-3]t1 limit=30;2:Resources@30:n0,n1,n2,n3;");
    expect(s, true, 1, ""); /* nothing changed */
    sched_job_end_time(s, 1, NOW + 20 * MINUTE);
    expect(s, true, 1, ""); /* 3 and 5 still end at 30 */
    sched_job_remove(s, 3);
    sched_job_remove(s, 5);
    expect(s, true, 1, "2:Resources@20:n0,n1,n2,n3;");
    expect(s, false, 2, "");
    sched_free(s);
}

/* A job that runs past the reserved start may use what the head leaves on its nodes, and only
 * that. */
static void test_backfill_beside(void **state)
{
    struct sched *s = cluster();
    struct sched_job j;

    (void)state;
    fill(s, 1, 3, 30);
    j = job(2); /* all of n0 to n2 and six cores of n3; 12000 MiB on each */
    j.num_tasks = 60;
    j.min_nodes = j.max_nodes = 4;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 12000;
    put(s, j);
    j = job(3);
    j.time_limit_min = 600;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 5000; /* more than the head leaves */
    put(s, j);
    j.id = 4;
    j.mem_per_node_mib = 3000;
    put(s, j);
    j.id = 5;
    j.mem_per_node_mib = 3000; /* the second does not fit beside */
    put(s, j);
    expect(s, false, 0,
           "1:main n0[0-15]t1 n1[0-15]t1 n2[0-15]t1;2:Resources;3:Priority;4:Priority;5:Priority;");
    expect(s, true, 0, "4:main n3[6-7]t1m3000;2:Resources@30:n0,n1,n2,n3;");
    sched_job_remove(s, 1);
    expect(s, false, 30,
           "2:main n0[0-15]t16m12000 n1[0-15]t16m12000 n2[0-15]t16m12000 n3[0-5,8-13]t12m12000;"
           "3:Resources;");
    sched_free(s);
}

/* Nodes that a new controller waits for count in the answer, and start nothing. */
static void test_when_awaited(void **state)
{
    struct sched *s = cluster();
    struct sched_decision d;
    struct sched_job j = job(99);

    (void)state;
    for (int awaited = 1; awaited >= 0; awaited--) {
        for (uint32_t i = 0; i < 4; i++) {
            struct sched_node n = node(i);

            n.schedulable = false;
            n.awaited = awaited;
            assert_int_equal(sched_node_put(s, &n), 0);
        }
        assert_int_equal(sched_when(s, &j, NOW, &d), 0);
        assert_int_equal(d.expected_us, awaited ? NOW : 0);
        assert_int_equal(d.why, awaited ? SCHED_WHY_NONE : SCHED_WHY_NODES_UNAVAILABLE);
        sched_decision_done(&d);
    }
    put(s, job(1));
    expect(s, false, 0, "1:Unavailable;");
    sched_free(s);
}

static void test_when(void **state)
{
    struct sched *s = cluster();
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct sched_decision d;
    struct sched_job j = job(99);

    (void)state;
    j.min_nodes = j.max_nodes = 2;
    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.expected_us, NOW);
    list_alloc(&sb, &d.alloc);
    assert_string_equal(strbuf_str(&sb), " n0[0-1]t1 n1[0-1]t1");
    assert_string_equal(d.partition, "main");
    sched_decision_done(&d);
    fill(s, 1, 3, 30);
    fill(s, 2, 4, 10);
    expect(s, false, 0, "1:main n0[0-15]t1 n1[0-15]t1 n2[0-15]t1;2:Resources;");
    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.expected_us, 0); /* not by what runs: 2 holds all from then on */
    assert_int_equal(d.why, SCHED_WHY_RESOURCES);
    sched_decision_done(&d);
    j.min_nodes = 50;
    j.max_nodes = 50;
    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.why, SCHED_WHY_BAD_CONSTRAINTS);
    sched_decision_done(&d);
    assert_int_equal(sched_pending(s), 1);
    sched_free(s);
}

/* A partition that is down has a start to tell, one that is inactive has none. */
static void test_when_down(void **state)
{
    struct sched *s = cluster();
    struct sched_partition p = partition("late");
    const char *const late[] = { "late" };
    struct sched_decision d;
    struct sched_job j = job(99);

    (void)state;
    p.up = false;
    assert_int_equal(sched_partition_put(s, &p), 0);
    j.partitions = late;
    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.expected_us, NOW);
    sched_decision_done(&d);
    p.inactive = true;
    assert_int_equal(sched_partition_put(s, &p), 0);
    assert_int_equal(sched_when(s, &j, NOW, &d), 0);
    assert_int_equal(d.expected_us, 0);
    assert_int_equal(d.why, SCHED_WHY_PART_INACTIVE);
    sched_decision_done(&d);
    sched_free(s);
}

/* ---- running jobs ---------------------------------------------------------------------------- */

static void test_recovery(void **state)
{
    uint64_t cpus[1] = { 0xff }, dev[1] = { 1 };
    struct sched_alloc_gres g = {
        .name = "gpu", .type = "a100", .count = 1, .devices = dev, .ndevice_words = 1
    };
    struct sched_alloc_node an = { .node_id = 2,
                                   .cpus = 8,
                                   .cpu_bits = cpus,
                                   .ncpu_words = 1,
                                   .mem_mib = 15900,
                                   .tasks = 1,
                                   .gres = &g,
                                   .ngres = 1 };
    const struct sched_alloc a = { .nodes = &an, .nnodes = 1 };
    const struct sched_gres_req req = { .name = "gpu", .per_node = 1 };
    struct sched *s = gpu_cluster();
    struct sched_job j = job(8);
    const uint32_t two = 2;

    (void)state;
    assert_int_equal(sched_job_running(s, 7, "main", &a, NOW, NOW + 10 * MINUTE, false), 0);
    cpus[0] = dev[0] = 0; /* copied */
    j.req_nodes = &two;
    j.nreq = 1;
    j.gres = &req;
    j.ngres = 1;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 100;
    put(s, j);
    expect(s, false, 0, "8:main n2[8-9]t1m100 gpu:1(1);");
    j.id = 9;
    j.gres = NULL;
    j.ngres = 0;
    put(s, j);
    expect(s, false, 0, "9:Resources;"); /* no memory left */
    sched_job_suspend(s, 7, true);       /* frees CPUs only */
    expect(s, false, 0, "");
    sched_job_remove(s, 7);
    expect(s, false, 0, "9:main n2[0-1]t1m100;");
    sched_free(s);
}

static void test_invalid(void **state)
{
    struct sched *s = cluster();
    struct sched_node n = node(4);
    struct sched_job j = job(1);
    enum sched_why why;

    (void)state;
    n.cpus = 0;
    assert_int_equal(sched_node_put(s, &n), -EINVAL);
    j.cpus_per_task = 0;
    assert_int_equal(sched_job_put(s, &j), -EINVAL);
    j = job(1);
    j.npartitions = 0;
    assert_int_equal(sched_job_put(s, &j), -EINVAL);
    j = job(1);
    j.features = "a&&b";
    assert_int_equal(sched_job_put(s, &j), -EINVAL);
    assert_false(sched_feasible(s, &j, &why));
    assert_int_equal(sched_pending(s), 0);
    sched_job_remove(s, 12345);
    sched_job_refused(s, 12345);
    sched_node_remove(s, 77);
    sched_partition_remove(s, "nothing");
    expect(s, false, 0, "");
    sched_free(s);
}

/* A node that goes and comes back still holds what runs there; a partition may come after its
 * jobs. */
static void test_reconfiguration(void **state)
{
    struct sched *s = cluster();
    struct sched_node n = node(0);
    struct sched_partition late = partition("late");
    const char *const names[] = { "late" };
    struct sched_job j;

    (void)state;
    put(s, job(1));
    expect(s, false, 0, "1:main n0[0-1]t1;");
    sched_node_remove(s, 0);
    put(s, job(2));
    expect(s, false, 0, "2:main n1[0-1]t1;");
    n.features = "new";
    assert_int_equal(sched_node_put(s, &n), 0);
    j = job(3);
    j.features = "new";
    put(s, j);
    expect(s, false, 0, "3:main n0[2-3]t1;");
    j = job(4);
    j.partitions = names;
    put(s, j);
    expect(s, false, 0, "4:PartDown;");
    assert_int_equal(sched_partition_put(s, &late), 0);
    expect(s, false, 0, "4:late n0[4-5]t1;");
    sched_partition_remove(s, "late");
    j.id = 5;
    put(s, j);
    expect(s, false, 0, "5:PartDown;");
    sched_free(s);
}

/* Nodes without a slurmd: external jobs alone run there, and they run elsewhere too. */
static void test_external(void **state)
{
    struct sched *s = cluster_with(params());
    struct sched_job claim = job(3), wide = job(2);
    struct sched_node n = node(0);

    (void)state;
    n.external = true;
    assert_int_equal(sched_node_put(s, &n), 0);
    n = node(1);
    n.external = true;
    assert_int_equal(sched_node_put(s, &n), 0);
    put(s, job(1));
    wide.min_nodes = 3;
    put(s, wide);
    claim.external = true;
    claim.min_nodes = claim.max_nodes = 3;
    put(s, claim);
    expect(s, false, 0, "1:main n2[0-1]t1;3:main n0[0-1]t1 n1[0-1]t1 n2[2-3]t1;2:Constraints;");
    n.external = false; /* it has a slurmd now */
    assert_int_equal(sched_node_put(s, &n), 0);
    expect(s, false, 1, "2:main n1[2-3]t1 n2[4-5]t1 n3[0-1]t1;");
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),         cmocka_unit_test(test_selects),
        cmocka_unit_test(test_cpus_as_cores),   cmocka_unit_test(test_weight_and_lln),
        cmocka_unit_test(test_best_run),        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_cpu_quota),       cmocka_unit_test(test_socket_quota),
        cmocka_unit_test(test_reasons),         cmocka_unit_test(test_order),
        cmocka_unit_test(test_partitions),      cmocka_unit_test(test_multifactor),
        cmocka_unit_test(test_queue_depth),     cmocka_unit_test(test_backfill),
        cmocka_unit_test(test_backfill_beside), cmocka_unit_test(test_when),
        cmocka_unit_test(test_when_awaited),    cmocka_unit_test(test_when_down),
        cmocka_unit_test(test_recovery),        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_reconfiguration), cmocka_unit_test(test_external),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
