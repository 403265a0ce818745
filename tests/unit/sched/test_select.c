/* test_select.c - worked examples of placement, one row each: what jobs ask for, what they hold
 *
 * Each has a name: where it was recorded ("transcript 27, job 7": the commands themselves are asked
 * again by tests/integration/commands/test_transcripts.py -k 27), or the option or parameter it is
 * about.
 *
 * Four nodes of 2 sockets x 4 cores x 2 threads, 16000 MiB, as in the recorded examples; nodes 2
 * and 3 have two GPUs and the feature "gpu".  The jobs of a row are put one after the other and
 * held. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "sched/sched.h"

#define NODES 4
#define JOBS 4

static const char *const part_main[] = { "main" };
static const char *const part_two[] = { "two" };
static const char *const part_user[] = { "user" };
static const char *const part_whole[] = { "whole" };

#define JOB(...)                                                                                   \
    {                                                                                              \
        .partitions = part_main, .npartitions = 1, .time_limit_min = 10, .min_nodes = 1,           \
        .cpus_per_task = 1, .num_tasks = 1, .mem_per_cpu_mib = 100, __VA_ARGS__                    \
    }
#define GPU(...)                                                                                   \
    .gres = (const struct sched_gres_req[]){ { .name = "gpu", __VA_ARGS__ } }, .ngres = 1

#define LISTED(first, second)                                                                      \
    .req_nodes = (const uint32_t[]){ 0, 2 }, .req_tasks = (const uint32_t[]){ first, second },     \
    .nreq = 2, .min_nodes = 2, .max_nodes = 2, .num_tasks = (first) + (second)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct example {
    const char *name;
    const char *text; /* nodes of the jobs, "-" for a job that waits */
    struct sched_job jobs[JOBS];
    struct sched_params params; /* beside the usual */
    uint64_t spec;              /* CPUs of node 0 kept from jobs */
    bool by_cpu;                /* CR_CPU */
    bool three;                 /* node 1 has GPUs too */
} examples[] = {
    { "-m arbitrary: nodes get what the list says",
      "n0[0-1]t1m200 n2[0-1,8-9]t3m400",
      { JOB(LISTED(1, 3)) } },
    { "-m arbitrary: and the other way round",
      "n0[0-1,8-9]t3m400 n2[0-1]t1m200",
      { JOB(LISTED(3, 1)) } },
    { "-m arbitrary: not less",
      "n2[0-15]t15m1600 | -",
      { JOB(.req_nodes = (const uint32_t[]){ 2 }, .nreq = 1, .num_tasks = 15),
        JOB(LISTED(2, 1)) } },
    { "-m arbitrary: whole nodes",
      "n0[0-15]t1m1600 n2[0-15]t3m1600 gpu0-1",
      { JOB(LISTED(1, 3), .exclusive = true) } },
    /* recorded: memory, threads and geometry */
    { "transcript 27, job 7: -n3", "n0[0-1,8-9]t3m400", { JOB(.num_tasks = 3) } },
    { "transcript 27, job 8: -n3 --threads-per-core=1",
      "n0[0-3,8-9]t3m300",
      { JOB(.num_tasks = 3, .threads_per_core = 1) } },
    { "transcript 27, job 9: -n3 --ntasks-per-core=1",
      "n0[0-3,8-9]t3m600",
      { JOB(.num_tasks = 3, .ntasks_per_core = 1) } },
    { "transcript 27, job 10: -c3 --mem-per-cpu=150",
      "n0[0-3]t1m600",
      { JOB(.cpus_per_task = 3, .mem_per_cpu_mib = 150) } },
    { "transcript 27, job 12: --exclusive=user", "n0[0-1]t1m200", { JOB(.exclusive_user = true) } },
    { "transcript 27, job 14: --mem=500 -n4",
      "n0[0-1,8-9]t4m500",
      { JOB(.num_tasks = 4, .has_mem_per_node = true, .mem_per_node_mib = 500) } },
    { "transcript 27, job 15: -N2 -n5",
      "n0[0-1,8-9]t3m400 n1[0-1]t2m200",
      { JOB(.num_tasks = 5, .min_nodes = 2, .max_nodes = 2) } },
    { "transcript 27, job 16: -N2-4 -n8, rather more nodes",
      "n0[0-1,8-9]t2m400 n1[0-1]t2m200 n2[0-1]t2m200 n3[0-1]t2m200",
      { JOB(.num_tasks = 8, .min_nodes = 2, .max_nodes = 4) } },
    { "transcript 27, job 19: -B 2:4:1",
      "n0[0-15]t8m800",
      { JOB(.num_tasks = 8, .threads_per_core = 1, .min_sockets = 2) } },
    { "transcript 27, job 20: -n2 -c4 --hint=nomultithread",
      "n0[0-15]t2m800",
      { JOB(.num_tasks = 2, .cpus_per_task = 4, .threads_per_core = 1) } },
    { "transcript 27, job 18: --mincpus=12 -n1", "n0[0-1]t1m200", { JOB(.pn_min_cpus = 12) } },
    /* recorded: GPUs */
    { "transcript 28, job 28: -G3 -N2",
      "n2[0-1]t1m200 gpu0-1; n3[0-1]t1m200 gpu0",
      { JOB(.num_tasks = 2, .min_nodes = 2, .max_nodes = 2, GPU(.per_job = 3)) } },
    { "transcript 28, job 31: -n4 --gpus=2 --ntasks-per-gpu=2",
      "n2[0-1,8-9]t4m400 gpu0-1",
      { JOB(.num_tasks = 4, .tasks_per_gpu = 2, GPU(.per_job = 2)) } },
    { "transcript 28, job 33: --gpus=2 --cpus-per-gpu=4 --mem-per-gpu=200",
      "n2[0-3,8-11]t1m400 gpu0-1",
      { JOB(.cpus_per_gpu = 4, .mem_per_gpu_mib = 200, .mem_per_cpu_mib = 0, GPU(.per_job = 2)) } },
    { "transcript 28, job 35: --gres=gpu:1 --exclusive",
      "n2[0-15]t1m1600 gpu0-1",
      { JOB(.exclusive = true, GPU(.per_node = 1)) } },
    { "-n2 --gpus-per-task=1 --cpus-per-gpu=3",
      "n2[0-1,8-11]t2m600 gpu0-1",
      { JOB(.num_tasks = 2, .cpus_per_gpu = 3, GPU(.per_task = 1)) } },
    { "DefCpuPerGPU: a GPU with all CPUs of its node",
      "n2[0-15]t1m1600 gpu0 | n3[0-15]t1m1600 gpu0 | -",
      { JOB(.cpus_per_gpu = 16, GPU(.per_node = 1)), JOB(.cpus_per_gpu = 16, GPU(.per_node = 1)),
        JOB(.cpus_per_gpu = 16, GPU(.per_node = 1)) } },
    /* measured: tasks over sockets and nodes */
    { "-n4 -m *:block", "n0[0-3]t4m400", { JOB(.num_tasks = 4, .socket_dist = SCHED_DIST_BLOCK) } },
    { "CR_CORE_DEFAULT_DIST_BLOCK: -n4",
      "n0[0-3]t4m400",
      { JOB(.num_tasks = 4) },
      { .dist_block = true } },
    { "CR_CORE_DEFAULT_DIST_BLOCK: -n4 -m *:cyclic",
      "n0[0-1,8-9]t4m400",
      { JOB(.num_tasks = 4, .socket_dist = SCHED_DIST_CYCLIC) },
      { .dist_block = true } },
    { "CR_CPU: -n3", "n0[0-3]t3m300", { JOB(.num_tasks = 3) }, .by_cpu = true },
    { "-c10 over two sockets", "n0[0-9]t1m1000", { JOB(.cpus_per_task = 10) } },
    { "-n3 -c4", "n0[0-11]t3m1200", { JOB(.num_tasks = 3, .cpus_per_task = 4) } },
    { "-N2 -n6 -c2: filled one after the other",
      "n0[0-9]t5m1000 n1[0-1]t1m200",
      { JOB(.num_tasks = 6, .cpus_per_task = 2, .min_nodes = 2, .max_nodes = 2) } },
    { "-N1-3 -n4 --use-min-nodes",
      "n0[0-1,8-9]t4m400",
      { JOB(.num_tasks = 4, .min_nodes = 1, .max_nodes = 3, .use_min_nodes = true) } },
    { "-N1-3 -n4 --spread-job --use-min-nodes",
      "n0[0-1,8-9]t4m400",
      { JOB(.num_tasks = 4, .min_nodes = 1, .max_nodes = 3, .spread = true,
            .use_min_nodes = true) } },
    { "-N2 -n5 -m *,Pack",
      "n0[0-1,8-9]t4m400 n1[0-1]t1m200",
      { JOB(.num_tasks = 5, .min_nodes = 2, .max_nodes = 2, .pack = true) } },
    { "CR_Pack_Nodes: -N2 -n5",
      "n0[0-1,8-9]t4m400 n1[0-1]t1m200",
      { JOB(.num_tasks = 5, .min_nodes = 2, .max_nodes = 2) },
      { .pack_nodes = true } },
    { "CR_LLN: the least loaded node",
      "n0[0-1]t1m200 | n1[0-1]t1m200 | n2[0-1]t1m200",
      { JOB(), JOB(), JOB() },
      { .lln = true } },
    /* told */
    { "CR_Core: -n1 gets both threads of a core", "n0[0-1]t1m200", { JOB() } },
    { "transcript 27, job 5: --exclusive", "n0[0-15]t1m1600", { JOB(.exclusive = true) } },
    { "transcript 27, job 6: --exclusive --mem=0",
      "n0[0-15]t1m16000",
      { JOB(.exclusive = true, .has_mem_per_node = true) } },
    { "transcript 27, job 11: in a partition with Exclusive=NODE",
      "n0[0-15]t1m1600",
      { JOB(.partitions = part_whole) } },
    { "transcript 27, job 17: -n4 -N4 --spread-job",
      "n0[0-1]t1m200 n1[0-1]t1m200 n2[0-1]t1m200 n3[0-1]t1m200",
      { JOB(.num_tasks = 4, .min_nodes = 4, .max_nodes = 4, .spread = true) } },
    { "transcript 28, job 26: --gres=gpu:1", "n2[0-1]t1m200 gpu0", { JOB(GPU(.per_node = 1)) } },
    { "transcript 28, job 27: --gres=gpu:a100:2",
      "n2[0-1]t1m200 gpu0-1",
      { JOB(GPU(.type = "a100", .per_node = 2)) } },
    { "transcript 28, job 29: --gpus-per-node=1 -N2",
      "n2[0-1]t1m200 gpu0; n3[0-1]t1m200 gpu0",
      { JOB(.num_tasks = 2, .min_nodes = 2, .max_nodes = 2, GPU(.per_node = 1)) } },
    { "recording 58: --gpus=3 begins where most are left, not at the first node",
      "n1[0-1]t1m200 gpu0 | n2[0-1]t1m200 gpu0-1; n3[0-1]t1m200 gpu0",
      { JOB(GPU(.per_job = 1)), JOB(.num_tasks = 0, GPU(.per_job = 3)) },
      .three = true },
    { "recording 55: --gpus=5 of free nodes begins at the first",
      "n1[0-1]t1m200 gpu0-1; n2[0-1]t1m200 gpu0-1; n3[0-1]t1m200 gpu0",
      { JOB(.num_tasks = 0, GPU(.per_job = 5)) },
      .three = true },
    { "-O -n40: as many CPUs as one task a node needs",
      "n0[0-1]t40m200",
      { JOB(.num_tasks = 40, .overcommit = true) } },
    { "the smallest run of nodes that holds the job",
      "n1[0-15]t16m1600 | n2[0-15]t16m1600 n3[0-15]t16m1600",
      { JOB(.num_tasks = 16, .exc_nodes = (const uint32_t[]){ 0, 2, 3 }, .nexc = 3),
        JOB(.num_tasks = 32, .min_nodes = 2) } },
    { "--contiguous past a node in use",
      "n1[0-15]t16m1600 | -",
      { JOB(.num_tasks = 16, .exc_nodes = (const uint32_t[]){ 0, 2, 3 }, .nexc = 3),
        JOB(.num_tasks = 48, .min_nodes = 3, .contiguous = true) } },
    { "--contiguous with counts of features: no more nodes than they need",
      "n1[0-1]t1m200 n2[0-1]t1m200 n3[0-1]t1m200",
      { JOB(.num_tasks = 3, .min_nodes = 3, .max_nodes = 3, .contiguous = true,
            .features = "[plain*1&gpu*2]") } },
    { "a required node beside counts of features: each node has one of the tasks",
      "n0[0-1]t1m100 n1[0-1]t1m100 n2[0-1]t1m100 n3[0-1]t1m100",
      { JOB(.num_tasks = 4, .features = "[plain*2&gpu*1]", .req_nodes = (const uint32_t[]){ 3 },
            .nreq = 1) },
      .by_cpu = true },
    { "a required node beside counts of features: the job gets tasks for all that need one",
      "n0[0-1]t1m100 n2[0-1]t1m100 n3[0-1]t1m100",
      { JOB(.num_tasks = 2, .features = "[plain*1&gpu*1]", .req_nodes = (const uint32_t[]){ 3 },
            .nreq = 1) },
      .by_cpu = true },
    { "required nodes are of the first count alone",
      "n0[0-1]t1m100 n2[0-1]t1m100 n3[0-1]t1m100",
      { JOB(.num_tasks = 2, .features = "[plain*1&gpu*1]", .req_nodes = (const uint32_t[]){ 0, 2 },
            .nreq = 2) },
      .by_cpu = true },
    { "required nodes beside counts of features, and -N that leaves no room for them",
      "-",
      { JOB(.num_tasks = 2, .min_nodes = 2, .max_nodes = 2, .features = "[plain*1&gpu*1]",
            .req_nodes = (const uint32_t[]){ 0, 2 }, .nreq = 2) } },
    { "counts of features beyond -N",
      "-",
      { JOB(.num_tasks = 3, .min_nodes = 2, .max_nodes = 2, .features = "[plain*1&gpu*2]") } },
    { "--contiguous -N1-3: as many adjacent nodes as it may have",
      "n0[0-1]t1m200 n1[0-1]t1m200 n2[0-1]t1m200",
      { JOB(.num_tasks = 0, .max_nodes = 3, .contiguous = true) } },
    { "--contiguous -N1-3: where fewer are adjacent, those",
      "n1[0-15]t16m1600 | n2[0-1]t1m200 n3[0-1]t1m200",
      { JOB(.num_tasks = 16, .exc_nodes = (const uint32_t[]){ 0, 2, 3 }, .nexc = 3),
        JOB(.num_tasks = 0, .max_nodes = 3, .contiguous = true) } },
    { "-O -c4: CPUs for one task of a node",
      "n0[0-1,8-9]t9m400",
      { JOB(.num_tasks = 9, .overcommit = true, .cpus_per_task = 4) } },
    { "--contiguous with counts of features that no run meets",
      "n1[0-15]t16m1600 | -",
      { JOB(.num_tasks = 16, .exc_nodes = (const uint32_t[]){ 0, 2, 3 }, .nexc = 3),
        JOB(.num_tasks = 3, .min_nodes = 3, .contiguous = true, .features = "[plain*1&gpu*2]") } },
    { "pack_serial_at_end: jobs of one CPU on the last nodes",
      "n3[0-1]t1m200 | n0[0-1]t2m200 | n3[2-3]t1m200",
      { JOB(), JOB(.num_tasks = 2), JOB() },
      { .serial_last = true } },
    /* preferred features, shared CPUs, users */
    { "--prefer=gpu, until none has room",
      "n2[0-1]t1m200 | n2[2-15]t14m1400 | n3[0-1]t1m200",
      { JOB(.prefer = "gpu"), JOB(.num_tasks = 14, .prefer = "gpu"), JOB(.prefer = "gpu") } },
    { "-w with --prefer of counts: no node beside it",
      "n3[0-1]t1m200 | n0[0-1]t1m200",
      { JOB(.num_tasks = 0, .prefer = "[plain*1&gpu*1]", .req_nodes = (const uint32_t[]){ 3 },
            .nreq = 1),
        JOB(.num_tasks = 0, .prefer = "[gpu*2]", .req_nodes = (const uint32_t[]){ 0 },
            .nreq = 1) } },
    { "-w with -N1-3 and --prefer of counts: nodes beside it",
      "n0[0-1]t1m200 n2[0-1]t1m200 n3[0-1]t1m200",
      { JOB(.num_tasks = 3, .max_nodes = 3, .prefer = "[plain*1&gpu*1]",
            .req_nodes = (const uint32_t[]){ 3 }, .nreq = 1) } },
    { "--prefer of what no node has", "n0[0-1]t1m200", { JOB(.prefer = "none") } },
    { "OverSubscribe=FORCE:2: fresh CPUs before shared ones",
      "n0[0-15]t16m160 | n1[0-15]t16m160",
      { JOB(.num_tasks = 16, .mem_per_cpu_mib = 10, .partitions = part_two),
        JOB(.num_tasks = 16, .mem_per_cpu_mib = 10, .partitions = part_two) } },
    { "OverSubscribe=FORCE:2: then two on a CPU",
      "n0[0-1]t1m20 | n0[2-3]t1m20 | n0[0-15]t16m160",
      { JOB(.mem_per_cpu_mib = 10, .partitions = part_two),
        JOB(.mem_per_cpu_mib = 10, .partitions = part_two),
        JOB(.num_tasks = 16, .mem_per_cpu_mib = 10, .partitions = part_two,
            .exc_nodes = (const uint32_t[]){ 1, 2, 3 }, .nexc = 3) } },
    { "--exclusive=user: nodes of one user",
      "n0[0-1]t1m200 | n0[2-3]t1m200 | n1[0-1]t1m200 | n1[2-3]t1m200",
      { JOB(.uid = 7, .exclusive_user = true), JOB(.uid = 7), JOB(.uid = 8),
        JOB(.uid = 8, .exclusive_user = true) } },
    { "Exclusive=USER of the partition",
      "n0[0-1]t1m200 | n1[0-1]t1m200 | n0[2-3]t1m200",
      { JOB(.uid = 7, .partitions = part_user), JOB(.uid = 8, .partitions = part_user),
        JOB(.uid = 7, .partitions = part_user) } },
    /* cores kept for the system */
    { "CpuSpecList: -n12", "n0[2-13]t12m1200", { JOB(.num_tasks = 12) }, { 0 }, 0xc003 },
    { "CpuSpecList: a whole node is what is left",
      "n0[2-3]t1m200 | n1[0-15]t16m1600",
      { JOB(), JOB(.num_tasks = 16, .max_nodes = 1) },
      { 0 },
      0xc003 },
    { "CpuSpecList of half a core keeps it whole",
      "n0[2-13]t1m1200",
      { JOB(.exclusive = true) },
      { 0 },
      0x8001 }, /* whole cores are kept */
    { "--core-spec=0: what the node keeps too, with none beside it",
      "n0[0-15]t16m1600 | n1[0-1]t1m200",
      { JOB(.kept_too = true, .num_tasks = 16, .req_nodes = (const uint32_t[]){ 0 }, .nreq = 1),
        JOB() },
      { 0 },
      0xc003 },
    { "--core-spec=0: on all nodes",
      "n0[0-15]t16m1600 n1[0-15]t16m1600 n2[0-15]t16m1600 gpu0-1; n3[0-15]t16m1600 gpu0-1 | -",
      { JOB(.kept_too = true, .num_tasks = 64), JOB() },
      { 0 },
      0xc003 },
    { "--core-spec=3", "n0[0-5,8-11]t1m1000", { JOB(.exclusive = true, .core_spec = 3) } },
};
#pragma GCC diagnostic pop

static const struct sched_gres_spec gpus[] = {
    { .name = "gpu", .type = "a100", .count = 2, .indexed = true }
};

static void put_partition(struct sched *s, struct sched_partition p)
{
    static const uint32_t ids[NODES] = { 0, 1, 2, 3 };

    p.node_ids = ids;
    p.nnodes = NODES;
    p.tier = 1;
    p.up = true;
    p.max_time_min = p.max_nodes = SCHED_UNLIMITED;
    assert_int_equal(sched_partition_put(s, &p), 0);
}

static struct sched *cluster(const struct example *e)
{
    struct sched_params params = e->params;
    struct sched *s = NULL;

    params.select = e->by_cpu ? SCHED_SELECT_CPU : SCHED_SELECT_CORE;
    params.select_memory = true;
    assert_int_equal(sched_new(&params, &s), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        const struct sched_node n = { .id = i,
                                      .name = "n",
                                      .cpus = 16,
                                      .sockets = 2,
                                      .cores_per_socket = 4,
                                      .threads_per_core = 2,
                                      .mem_mib = 16000,
                                      .weight = 1,
                                      .schedulable = true,
                                      .spec_bits = i == 0 && e->spec ? &e->spec : NULL,
                                      .features = i < 2 ? "plain" : "gpu",
                                      .gres = gpus,
                                      .ngres = i < (e->three ? 1 : 2) ? 0 : 1 };

        assert_int_equal(sched_node_put(s, &n), 0);
    }
    put_partition(s, (struct sched_partition){ .name = "main" });
    put_partition(s, (struct sched_partition){
                         .name = "two", .oversubscribe = 2, .oversubscribe_force = true });
    put_partition(s, (struct sched_partition){ .name = "user", .exclusive_user = true });
    put_partition(s, (struct sched_partition){ .name = "whole", .exclusive_node = true });
    return s;
}

static void list_bits(struct strbuf *sb, uint64_t bits)
{
    const char *sep = "";

    for (uint32_t i = 0, k; i < 64; i = k + 1) {
        for (k = i; k < 64 && bits >> k & 1;)
            k++;
        if (k > i)
            strbuf_addf(sb, k - i > 1 ? "%s%u-%u" : "%s%u", sep, i, k - 1);
        if (k > i)
            sep = ",";
    }
}

static void list_alloc(struct strbuf *sb, const struct sched_alloc *a)
{
    for (size_t i = 0; i < a->nnodes; i++) {
        const struct sched_alloc_node *an = &a->nodes[i];

        strbuf_addf(sb, "%sn%u[", i ? (a->nodes[i - 1].ngres ? "; " : " ") : "", an->node_id);
        list_bits(sb, an->cpu_bits[0]);
        strbuf_addf(sb, "]t%um%llu", an->tasks, (unsigned long long)an->mem_mib);
        if (an->ngres) {
            strbuf_add(sb, " gpu");
            list_bits(sb, an->gres[0].devices[0]);
        }
    }
}

static void test_examples(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
        _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
        struct sched *s = cluster(&examples[i]);

        for (uint32_t k = 0; k < JOBS && examples[i].jobs[k].partitions; k++) {
            _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
            struct sched_job j = examples[i].jobs[k];
            int64_t wake;

            j.id = k + 1;
            assert_int_equal(sched_job_put(s, &j), 0);
            assert_int_equal(sched_pass(s, 1, &d, &wake), 0);
            assert_int_equal(d.n, 1);
            strbuf_add(&sb, k ? " | " : "");
            if (d.items[0].kind == SCHED_START)
                list_alloc(&sb, &d.items[0].alloc);
            else
                strbuf_addc(&sb, '-');
        }
        if (strcmp(strbuf_str(&sb), examples[i].text) != 0)
            fail_msg("%s\n  wanted %s\n  got    %s", examples[i].name, examples[i].text,
                     strbuf_str(&sb));
        sched_free(s);
    }
}

/* What running jobs told of at recovery count for their user, before and after they end. */
static void test_owners(void **state)
{
    const struct example e = { .text = NULL };
    struct sched *s = cluster(&e);
    uint64_t bits = 3;
    struct sched_alloc_node an = {
        .node_id = 0, .cpus = 2, .cpu_bits = &bits, .ncpu_words = 1, .tasks = 1
    };
    struct sched_alloc a = { .nodes = &an, .nnodes = 1 };
    const struct sched_job theirs = { .id = 9,
                                      .uid = 8,
                                      .partitions = part_main,
                                      .npartitions = 1,
                                      .time_limit_min = 10,
                                      .min_nodes = 1,
                                      .max_nodes = 1,
                                      .cpus_per_task = 1,
                                      .num_tasks = 1 };

    (void)state;
    assert_int_equal(sched_job_running(s, 5, "main", &a, 0, INT64_MAX, false), 0);
    assert_int_equal(sched_job_owner(s, 5, 7, true, NULL), 0);
    for (uint32_t round = 0; round < 2; round++) {
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
        struct sched_job j = theirs;
        int64_t wake;

        j.id += round;
        assert_int_equal(sched_job_put(s, &j), 0);
        assert_int_equal(sched_pass(s, 1, &d, &wake), 0);
        assert_int_equal(d.n, 1);
        assert_int_equal(d.items[0].kind, SCHED_START);
        assert_int_equal(d.items[0].alloc.nodes[0].node_id, round ? 0 : 1);
        sched_job_remove(s, 5);
    }
    sched_free(s);
}

/* A pass that starts at most one job: the node it gets, UINT32_MAX = none. */
static uint32_t only_start(struct sched *s)
{
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    assert_int_equal(sched_pass(s, 1, &d, &wake), 0);
    for (size_t i = 0; i < d.n; i++)
        if (d.items[i].kind == SCHED_START)
            return d.items[i].alloc.nodes[0].node_id;
    return UINT32_MAX;
}

/* Labels keep jobs apart: what runs on node 0 has the first, the job that comes the second; it gets
 * that node. */
static void test_labels(void **state)
{
    static const struct {
        const char *there, *comes;
        uint32_t node;
    } rows[] = {
        { NULL, NULL, 0 },  { "red", "red", 0 }, { "red", "blue", 1 },
        { "red", NULL, 1 }, { NULL, "red", 1 },
    };
    uint64_t bits = 3;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct sched_alloc_node an = {
            .node_id = 0, .cpus = 2, .cpu_bits = &bits, .ncpu_words = 1, .tasks = 1
        };
        struct sched_alloc a = { .nodes = &an, .nnodes = 1 };
        struct sched *s = cluster(&(const struct example){ .text = NULL });
        struct sched_job j = { .id = 9,
                               .uid = 8,
                               .partitions = part_main,
                               .npartitions = 1,
                               .time_limit_min = 10,
                               .min_nodes = 1,
                               .max_nodes = 1,
                               .cpus_per_task = 1,
                               .num_tasks = 1,
                               .label = rows[i].comes };

        assert_int_equal(sched_job_running(s, 5, "main", &a, 0, INT64_MAX, false), 0);
        assert_int_equal(sched_job_owner(s, 5, 7, false, rows[i].there), 0);
        assert_int_equal(sched_job_put(s, &j), 0);
        assert_int_equal(only_start(s), rows[i].node);
        /* and another with the label of what it joined goes beside it, when the node of the first
         * is gone */
        sched_job_remove(s, 5);
        j.id = 10;
        j.req_nodes = &rows[i].node;
        j.nreq = 1;
        assert_int_equal(sched_job_put(s, &j), 0);
        assert_int_equal(only_start(s), rows[i].node);
        sched_free(s);
    }
}

/* Planning heeds them too: a job of another label gets no place beside the running one, and none
 * beside its plan. */
static void test_labels_planned(void **state)
{
    static const uint32_t others[] = { 2, 3 };
    uint64_t bits = 1;
    struct sched_alloc_node an[2] = {
        { .node_id = 0, .cpus = 1, .cpu_bits = &bits, .ncpu_words = 1, .tasks = 1 },
        { .node_id = 1, .cpus = 1, .cpu_bits = &bits, .ncpu_words = 1, .tasks = 1 }
    };
    struct sched_alloc a = { .nodes = an, .nnodes = 2 };
    struct sched *s = cluster(&(const struct example){ .params = { .backfill = true,
                                                                   .conservative = true,
                                                                   .bf_window_min = 1440,
                                                                   .bf_resolution_s = 60 } });
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct sched_job j = { .id = 9,
                           .uid = 8,
                           .partitions = part_main,
                           .npartitions = 1,
                           .time_limit_min = 10,
                           .min_nodes = 1,
                           .max_nodes = 1,
                           .cpus_per_task = 1,
                           .num_tasks = 1,
                           .exc_nodes = others,
                           .nexc = 2,
                           .label = "blue" };
    int64_t expected_us = 0;
    bool started = false;

    (void)state;
    assert_int_equal(sched_job_running(s, 5, "main", &a, 0, INT64_C(3600000000), false), 0);
    assert_int_equal(sched_job_owner(s, 5, 7, false, "red"), 0);
    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(only_start(s), UINT32_MAX);
    j.id = 10;
    j.label = "red"; /* its place is beside the running one: now */
    assert_int_equal(sched_job_put(s, &j), 0);
    assert_int_equal(only_start(s), UINT32_MAX); /* behind the other in the queue */
    assert_int_equal(sched_backfill(s, 2, &d), 0);
    for (size_t i = 0; i < d.n; i++) {
        if (d.items[i].kind == SCHED_START)
            assert_int_equal(d.items[i].job_id, 10);
        if (d.items[i].kind == SCHED_EXPECT && d.items[i].job_id == 9)
            expected_us = d.items[i].expected_us;
        started |= d.items[i].kind == SCHED_START;
    }
    assert_true(started);
    assert_true(expected_us >= INT64_C(3600000000));
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_examples),
                                        cmocka_unit_test(test_owners),
                                        cmocka_unit_test(test_labels),
                                        cmocka_unit_test(test_labels_planned) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
