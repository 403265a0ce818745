/* test_jobmemory.c - the memory that a job asks for: defaults of the partition and the cluster, by
 * CPU, node and GPU, and what MaxMemPerCPU makes of it */
#include "conf_util.h"

#include "base/cleanup.h"
#include "ctld/submit/jobmemory.h"
#include "model/tx.h"

#define NONE UINT64_MAX
#define G UINT64_C(1024)

/* ---- defaults -------------------------------------------------------------------------------- */

static const struct deflt {
    const char *conf, *job_defaults; /* of the cluster, of the partition */
    uint64_t part_cpu, part_node;    /* DefMemPerCPU, DefMemPerNode of the partition */
    const char *gres;                /* of the job, by node */
    uint64_t asks_node;              /* NONE: no --mem */
    uint64_t cpu, node, gpu;         /* what it has then, NONE: nothing */
    uint32_t gpu_cpus;               /* 0: none */
} defaults[] = {
    { "", NULL, NONE, NONE, NULL, NONE, NONE, 0, NONE, 0 }, /* all of the node */
    { "DefMemPerNode=500", NULL, NONE, NONE, NULL, NONE, NONE, 500, NONE, 0 },
    { "DefMemPerCPU=100", NULL, NONE, NONE, NULL, NONE, 100, NONE, NONE, 0 },
    { "DefMemPerCPU=100", NULL, 70, NONE, NULL, NONE, 70, NONE, NONE, 0 },
    { "DefMemPerCPU=100", NULL, NONE, 900, NULL, NONE, NONE, 900, NONE, 0 },
    { "DefMemPerCPU=100", NULL, 70, 900, NULL, 300, NONE, 300, NONE, 0 },
    { "DefMemPerGPU=2048\nDefCpuPerGPU=3", NULL, NONE, NONE, "gres/gpu:2", NONE, NONE, NONE, 2048,
      3 },
    { "DefMemPerGPU=2048", "DefMemPerGPU=64,DefCpuPerGPU=9", 70, NONE, "gres/gpu:2", NONE, NONE,
      NONE, 64, 9 },
    { "DefMemPerGPU=2048", "defcpupergpu=9", 70, NONE, "gres/gpu:2", NONE, NONE, NONE, 2048, 9 },
    { "DefMemPerGPU=2048", NULL, 70, NONE, "gres/nic:2", NONE, 70, NONE, NONE, 0 },
    { "DefMemPerGPU=2048", NULL, 70, NONE, NULL, NONE, 70, NONE, NONE, 0 },
};

static void test_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
        const struct deflt *d = &defaults[i];
        char lines[128];
        struct conf *conf;
        Pst__PartitionRecord p = PST__PARTITION_RECORD__INIT;
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        (void)snprintf(lines, sizeof(lines), "GresTypes=gpu,nic\n%s", d->conf);
        conf = conf_with_lines(lines);
        p.job_defaults = (char *)d->job_defaults; /* read only, likewise below */
        r.tres_per_node = (char *)d->gres;
        if (d->part_cpu != NONE)
            SET(&p, def_mem_per_cpu_mib, d->part_cpu);
        if (d->part_node != NONE)
            SET(&p, def_mem_per_node_mib, d->part_node);
        if (d->asks_node != NONE)
            SET(&r, mem_per_node_mib, d->asks_node);
        jobmemory_default(conf, &p, &r);
        if ((r.has_mem_per_cpu_mib ? r.mem_per_cpu_mib : NONE) != d->cpu ||
            (r.has_mem_per_node_mib ? r.mem_per_node_mib : NONE) != d->node ||
            (r.has_def_mem_per_gpu_mib ? r.def_mem_per_gpu_mib : NONE) != d->gpu ||
            (r.has_def_cpus_per_gpu ? r.def_cpus_per_gpu : 0) != d->gpu_cpus)
            fail_msg("row %zu", i);
        conf_free(conf);
    }
}

/* What the job says itself of CPUs and memory by GPU stays. */
static void test_gpu_says(void **state)
{
    struct conf *conf = conf_with_lines("GresTypes=gpu\nDefMemPerGPU=2048\nDefCpuPerGPU=3");
    Pst__PartitionRecord p = PST__PARTITION_RECORD__INIT;
    Pst__JobRecord r = PST__JOB_RECORD__INIT, q = PST__JOB_RECORD__INIT;

    (void)state;
    r.tres_per_job = q.tres_per_job = (char *)"gres/gpu:1";
    SET(&r, cpus_per_gpu, 8);
    SET(&r, mem_per_gpu_mib, 77);
    jobmemory_default(conf, &p, &r);
    assert_false(r.has_def_cpus_per_gpu || r.has_def_mem_per_gpu_mib || r.has_mem_per_node_mib);
    SET(&q, cpus_per_task, 2);
    jobmemory_default(conf, &p, &q);
    assert_false(q.has_def_cpus_per_gpu);
    assert_true(q.has_def_mem_per_gpu_mib);
    conf_free(conf);
}

/* ---- MaxMemPerCPU ---------------------------------------------------------------------------- */

static const struct limited {
    uint64_t limit, part_limit; /* MaxMemPerCPU of the cluster, of the partition; 0 = none */
    uint64_t cpu, node;         /* the job's, NONE: none */
    uint32_t tasks, nodes, cpt; /* 0: not said */
    uint32_t got_cpt;           /* what it has then */
    uint64_t got_cpu;           /* NONE: as it was */
    uint32_t got_min;           /* CPUs of a node, 0: none */
} limits[] = {
    { 0, 0, 5000, NONE, 1, 1, 0, 0, NONE, 0 },
    { 1000, 0, 1000, NONE, 1, 1, 0, 0, NONE, 0 },    /* no more than it may */
    { 1000, 0, 2500, NONE, 1, 1, 0, 3, 834, 0 },     /* three CPUs of a third each */
    { 1000, 0, 2500, NONE, 4, 1, 2, 6, 834, 0 },     /* of each task's two */
    { 1000, 5000, 2500, NONE, 1, 1, 0, 0, NONE, 0 }, /* the partition's own limit */
    { 1000, 0, NONE, 4000, 1, 1, 0, 4, NONE, 4 },
    { 1000, 0, NONE, 4000, 4, 1, 0, 0, NONE, 0 },           /* four tasks have four CPUs */
    { 1000, 0, NONE, 4500, 4, 2, 0, 3, NONE, 5 },           /* two tasks a node share five */
    { 1000, 0, NONE, 0, 1, 1, 0, 64, NONE, 64 },            /* all of a node: 64,000 MiB */
    { 1000, 0, G *G *G *G * 2, NONE, 1, 1, 0, 0, NONE, 0 }, /* refused elsewhere */
};

static void test_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        const struct limited *l = &limits[i];
        char line[64] = "";
        struct conf *conf;
        Pst__PartitionRecord p = PST__PARTITION_RECORD__INIT;
        Pst__JobRecord r = PST__JOB_RECORD__INIT;

        if (l->limit)
            (void)snprintf(line, sizeof(line), "MaxMemPerCPU=%u", (unsigned)l->limit);
        conf = conf_with_lines(line);
        if (l->part_limit)
            SET(&p, max_mem_per_cpu_mib, l->part_limit);
        if (l->cpu != NONE)
            SET(&r, mem_per_cpu_mib, l->cpu);
        if (l->node != NONE)
            SET(&r, mem_per_node_mib, l->node);
        SET(&r, num_tasks, l->tasks);
        SET(&r, min_nodes, l->nodes);
        if (l->cpt)
            SET(&r, cpus_per_task, l->cpt);
        jobmemory_as_cpus(conf, &p, 64000, &r);
        if (r.cpus_per_task != (l->got_cpt ? l->got_cpt : l->cpt) ||
            (l->cpu != NONE && r.mem_per_cpu_mib != (l->got_cpu == NONE ? l->cpu : l->got_cpu)) ||
            r.pn_min_cpus != l->got_min)
            fail_msg("row %zu: %u CPUs of %llu MiB, %u of a node", i, r.cpus_per_task,
                     (unsigned long long)r.mem_per_cpu_mib, r.pn_min_cpus);
        assert_int_equal(r.has_asked_cpus_per_task, l->got_cpt != 0); /* shown as asked for */
        if (l->got_cpt)
            assert_int_equal(r.asked_cpus_per_task, l->cpt);
        conf_free(conf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_gpu_says),
        cmocka_unit_test(test_limits),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
