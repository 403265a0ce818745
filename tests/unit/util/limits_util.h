/* limits_util.h - two nodes with accounts, a QOS and TRES, for tests of the rules about limits
 *
 * After cmocka.h and the definition of NOW. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/limit_data.h"
#include "sched/rules/limit_levels.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/sched_obj.h"

#include "sched_util.h"

enum { ROOT = 1, CHEM = 2, ANN = 3, BOB = 4, NORMAL = 10, PART = 20 }; /* ANN and BOB below CHEM */
enum { CPU = 1, MEM = 2, NODE = 4, BILLING = 5, GPU = 1001, LIC = 1002 };

static inline void limit_assoc(struct sched *s, uint32_t id, const struct sched_limits *l)
{
    struct sched_limits none;

    sched_limits_init(&none);
    assert_int_equal(sched_limit_assoc_put(s, id, id > CHEM ? CHEM : id - 1,
                                           id == ROOT ? "root" : "chem", l ? l : &none),
                     0);
}

static inline void limit_qos_put(struct sched *s, uint32_t id, const struct sched_limits *l,
                                 unsigned flags)
{
    struct sched_qos_limits q = { .usage_factor = 1, .flags = flags };

    sched_limits_init(&q.limits);
    if (l)
        q.limits = *l;
    assert_int_equal(sched_limit_qos_put(s, id, &q), 0);
}

/* Two nodes of 8 CPUs, 4,000 MiB and 4 GPUs, 16 licences; limits are enforced and none is set. */
static inline struct sched *limits_cluster(bool safe)
{
    static const struct {
        uint32_t id;
        const char *name;
    } tres[] = { { CPU, "cpu" },         { MEM, "mem" },      { NODE, "node" },
                 { BILLING, "billing" }, { GPU, "gres/gpu" }, { LIC, "license/lic" } };
    struct sched *s = util_cluster((struct sched_params){ .select_memory = true }, 2, 8, 4);
    const uint32_t ids[] = { 0, 1 };
    const struct sched_partition part = { .name = "main",
                                          .node_ids = ids,
                                          .nnodes = 2,
                                          .tier = 1,
                                          .up = true,
                                          .qos_id = PART,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };

    assert_int_equal(sched_partition_put(s, &part), 0);
    assert_int_equal(sched_license_put(s, "lic", 16), 0);
    for (size_t i = 0; i < ARRAY_SIZE(tres); i++)
        assert_int_equal(sched_tres_put(s, tres[i].id, tres[i].name), 0);
    for (uint32_t id = ROOT; id <= BOB; id++)
        limit_assoc(s, id, NULL);
    limit_qos_put(s, NORMAL, NULL, 0);
    limit_qos_put(s, PART, NULL, 0);
    sched_limit_enforce(s, true, safe);
    return s;
}

/* Two nodes, 4 CPUs and a GPU on each, 300 MiB a node, three licences, ten minutes. */
static inline struct sched_job limits_job(uint32_t id)
{
    static const struct sched_gres_req gpu = { .name = "gpu", .per_node = 1 };
    static const struct sched_lic_req lic = { .name = "lic", .count = 3 };
    struct sched_job j = util_job(id);

    j.uid = 2001;
    j.min_nodes = j.max_nodes = 2;
    j.num_tasks = 8;
    j.ntasks_per_node = 4;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 300;
    j.gres = &gpu;
    j.ngres = 1;
    j.licenses = &lic;
    j.nlicenses = 1;
    j.assoc_id = ANN;
    j.qos_id = NORMAL;
    return j;
}

/* A job that is put and waits. */
static inline struct job *limits_waits(struct sched *s, struct sched_job j)
{
    struct job *job;

    put(s, j);
    job = job_find(s, j.id);
    assert_non_null(job);
    return job;
}

/* One that a pass starts. */
static inline struct job *limits_runs(struct sched *s, struct sched_job j)
{
    struct sched_decisions d = { 0 };
    struct job *job = limits_waits(s, j);
    int64_t wake;

    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    sched_decisions_done(&d);
    assert_int_equal(job->state, JOB_PROPOSED);
    return job;
}

/* The place of a TRES in the table. */
static inline uint32_t limits_slot(const struct sched *s, uint32_t tres_id)
{
    for (uint32_t i = 0; i < s->limits->ntres; i++)
        if (s->limits->tres[i].id == tres_id)
            return i;
    fail_msg("no TRES %u", tres_id);
    return 0;
}

/* A job of so many CPUs and 300 MiB on one node for so many minutes. */
static inline struct sched_job limits_small(uint32_t id, uint32_t cpus, uint32_t minutes)
{
    struct sched_job j = util_job(id);

    j.num_tasks = cpus;
    j.max_nodes = 1;
    j.time_limit_min = minutes;
    j.has_mem_per_node = true;
    j.mem_per_node_mib = 300;
    return j;
}

/* It runs on this node. */
static inline struct job *limits_runs_on(struct sched *s, struct sched_job j, uint32_t node)
{
    j.req_nodes = &node;
    j.nreq = 1;
    return limits_runs(s, j);
}
