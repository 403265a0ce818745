/* metrictally.c - what one job and one node count for in the metrics; pure */
#include "ctld/web/metrictally.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/gres/grestext.h"
#include "model/use/usage.h"
#include "model/array.h"
#include "model/job.h"
#include "model/words/names.h"

#define MIB (UINT64_C(1) << 20)
#define NODE_FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

/* ---- jobs ------------------------------------------------------------------------------------ */

/* The counter of a base state; JOB_COUNTERS: there is none. */
static enum job_counter counter_of_state(Pst__JobState state)
{
    static const enum job_counter of[NAMES_JOB_STATES] = {
        [JOB_STATE(PENDING)] = JOB_COUNT_PENDING,
        [JOB_STATE(RUNNING)] = JOB_COUNT_RUNNING,
        [JOB_STATE(SUSPENDED)] = JOB_COUNT_SUSPENDED,
        [JOB_STATE(COMPLETED)] = JOB_COUNT_COMPLETED,
        [JOB_STATE(CANCELLED)] = JOB_COUNT_CANCELLED,
        [JOB_STATE(FAILED)] = JOB_COUNT_FAILED,
        [JOB_STATE(TIMEOUT)] = JOB_COUNT_TIMEOUT,
        [JOB_STATE(NODE_FAIL)] = JOB_COUNT_NODE_FAILED,
        [JOB_STATE(PREEMPTED)] = JOB_COUNT_PREEMPTED,
        [JOB_STATE(BOOT_FAIL)] = JOB_COUNT_BOOTFAIL,
        [JOB_STATE(DEADLINE)] = JOB_COUNT_DEADLINE,
        [JOB_STATE(OUT_OF_MEMORY)] = JOB_COUNT_OUTOFMEMORY,
    };

    return state < NAMES_JOB_STATES ? of[state] : JOB_COUNTERS;
}

static void count_flags(const Pst__JobRecord *job, struct job_tally *t)
{
    static const struct {
        uint32_t flag;
        enum job_counter counter;
    } of[] = { { JOB_FLAG(COMPLETING), JOB_COUNT_COMPLETING },
               { JOB_FLAG(CONFIGURING), JOB_COUNT_CONFIGURING },
               { JOB_FLAG(EXPEDITING), JOB_COUNT_EXPEDITING },
               { JOB_FLAG(POWER_UP_NODE), JOB_COUNT_POWERUP_NODE },
               { JOB_FLAG(REQUEUED), JOB_COUNT_REQUEUED },
               { JOB_FLAG(RESIZING), JOB_COUNT_RESIZING },
               { JOB_FLAG(REVOKED), JOB_COUNT_REVOKED },
               { JOB_FLAG(SIGNALING), JOB_COUNT_SIGNALING } };

    for (size_t i = 0; i < ARRAY_SIZE(of); i++)
        t->n[of[i].counter] = job_has_flag(job, of[i].flag);
}

static void count_tres(void *ctx, const char *name, uint64_t count)
{
    struct job_tally *t = ctx;

    if (strcmp(name, "cpu") == 0)
        t->n[JOB_COUNT_CPUS_ALLOC] = count;
    else if (strcmp(name, "mem") == 0)
        t->n[JOB_COUNT_MEMORY] = count * MIB;
    else if (strcmp(name, "node") == 0)
        t->n[JOB_COUNT_NODES_ALLOC] = count;
}

/* alloc_tres names GPUs only where AccountingStorageTRES has them. */
static uint64_t gpus_of_alloc(const Pst__Alloc *a)
{
    uint64_t gpus = 0;

    for (size_t i = 0; i < a->n_groups; i++)
        for (size_t k = 0; k < a->groups[i]->n_gres; k++)
            if (strcmp(a->groups[i]->gres[k]->name, "gpu") == 0)
                gpus += a->groups[i]->nodes * a->groups[i]->gres[k]->count;
    return gpus;
}

static void count_pending(const Pst__JobRecord *job, struct job_tally *t)
{
    uint64_t least = MAX(job->min_nodes, 1u), most = MAX(job->max_nodes, least);
    bool held = job_is_held(job);
    uint64_t tasks = job_is_array(job) ? array_count(job->array_tasks) : 1;

    t->n[JOB_COUNT_ALL] = t->n[JOB_COUNT_ACTIVE] = t->n[JOB_COUNT_PENDING] = tasks;
    t->n[JOB_COUNT_HOLD] = held ? tasks : 0;
    t->n[JOB_COUNT_MAX_NODES] = most;
    t->n[JOB_COUNT_MIN_NODES] = least;
    t->n[JOB_COUNT_MAX_NODES_NOHOLD] = held ? 0 : most;
    t->n[JOB_COUNT_MIN_NODES_NOHOLD] = held ? 0 : least;
    if (job->reason == PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT)
        t->n[JOB_COUNT_PART_LIMIT] = tasks;
}

void metrictally_job(const Pst__JobRecord *job, struct job_tally *ret)
{
    enum job_counter state = counter_of_state(job_state(job));
    bool ended = job_is_ended(job);

    *ret = (struct job_tally){ 0 };
    ret->n[JOB_COUNT_ALL] = 1;
    ret->n[JOB_COUNT_ACTIVE] = !ended;
    ret->n[JOB_COUNT_FINISHED] = ended;
    ret->n[JOB_COUNT_STARTED] = !job_is_pending(job) && job->has_start_us;
    if (state < JOB_COUNTERS)
        ret->n[state] = 1;
    count_flags(job, ret);
    if (job_is_pending(job))
        count_pending(job, ret);
    else if (job_holds_resources(job) && !ended && job->alloc_tres) {
        usage_parse_tres(job->alloc_tres, count_tres, ret);
        ret->n[JOB_COUNT_GPUS_ALLOC] = job->alloc ? gpus_of_alloc(job->alloc) : 0;
    }
}

static bool is_largest(size_t counter)
{
    return counter == JOB_COUNT_MAX_NODES || counter == JOB_COUNT_MIN_NODES ||
           counter == JOB_COUNT_MAX_NODES_NOHOLD || counter == JOB_COUNT_MIN_NODES_NOHOLD;
}

void metrictally_add(struct job_tally *into, const struct job_tally *one)
{
    for (size_t i = 0; i < JOB_COUNTERS; i++)
        into->n[i] = is_largest(i) ? MAX(into->n[i], one->n[i]) : into->n[i] + one->n[i];
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint64_t take_from(uint64_t all, uint64_t part)
{
    return all > part ? all - part : 0;
}

static uint64_t count_gpus(const char *gres)
{
    return gres ? gres_text_count(gres, "gpu", NULL, NULL) : 0;
}

void metrictally_values(const Pst__NodeRecord *node, struct node_values *ret)
{
    const struct names_node n = names_node_of(node);
    uint64_t mem_mib = node->real_memory_mib, *v = ret->v;

    *ret = (struct node_values){ 0 };
    v[NODE_VALUE_CPUS] = node->cpus;
    v[NODE_VALUE_CPUS_ALLOC] = node->alloc_cpus;
    v[NODE_VALUE_CPUS_EFCTV] = n.cpus;
    v[NODE_VALUE_CPUS_IDLE] = take_from(n.cpus, node->alloc_cpus);
    v[NODE_VALUE_GPUS] = count_gpus(node->gres);
    v[NODE_VALUE_GPUS_ALLOC] = count_gpus(node->alloc_gres);
    v[NODE_VALUE_MEM] = mem_mib * MIB;
    v[NODE_VALUE_MEM_ALLOC] = node->alloc_mem_mib * MIB;
    v[NODE_VALUE_MEM_EFCTV] = take_from(mem_mib, node->mem_spec_mib) * MIB;
    v[NODE_VALUE_MEM_FREE] = node->free_mem_mib * MIB;
}

static enum node_counter counter_of_node(const struct names_node *n)
{
    if (n->state == PST__NODE_STATE__NODE_DOWN)
        return NODE_COUNT_DOWN;
    if (n->state == PST__NODE_STATE__NODE_FUTURE)
        return NODE_COUNT_FUTURE;
    if (n->state != PST__NODE_STATE__NODE_IDLE)
        return NODE_COUNT_UNKNOWN;
    if (names_node_allocated(n))
        return NODE_COUNT_ALLOC;
    return names_node_mixed(n) ? NODE_COUNT_MIXED : NODE_COUNT_IDLE;
}

static void count_node_flags(struct node_tally *t, uint32_t flags, bool busy)
{
    static const struct {
        uint32_t flag;
        enum node_counter counter;
    } of[] = { { NODE_FLAG(COMPLETING), NODE_COUNT_COMPLETING },
               { NODE_FLAG(CLOUD), NODE_COUNT_CLOUD },
               { NODE_FLAG(DRAIN), NODE_COUNT_DRAIN },
               { NODE_FLAG(DYNAMIC_FUTURE), NODE_COUNT_DYN_FUTURE },
               { NODE_FLAG(DYNAMIC_NORM), NODE_COUNT_DYN_NORMAL },
               { NODE_FLAG(EXTERNAL), NODE_COUNT_EXTERNAL },
               { NODE_FLAG(FAIL), NODE_COUNT_FAIL },
               { NODE_FLAG(INVALID_REG), NODE_COUNT_INVALID_REG },
               { NODE_FLAG(MAINTENANCE), NODE_COUNT_MAINT },
               { NODE_FLAG(NOT_RESPONDING), NODE_COUNT_NORESP },
               { NODE_FLAG(PLANNED), NODE_COUNT_PLANNED },
               { NODE_FLAG(POWER_DOWN), NODE_COUNT_POWER_DOWN },
               { NODE_FLAG(POWER_UP), NODE_COUNT_POWER_UP },
               { NODE_FLAG(POWERED_DOWN), NODE_COUNT_POWERED_DOWN },
               { NODE_FLAG(POWERING_DOWN), NODE_COUNT_POWERING_DOWN },
               { NODE_FLAG(POWERING_UP), NODE_COUNT_POWERING_UP },
               { NODE_FLAG(REBOOT_ISSUED), NODE_COUNT_REBOOT_ISSUED },
               { NODE_FLAG(REBOOT_REQUESTED), NODE_COUNT_REBOOT_REQ },
               { NODE_FLAG(RESERVED), NODE_COUNT_RESV } };

    for (size_t i = 0; i < ARRAY_SIZE(of); i++)
        t->n[of[i].counter] += (flags & of[i].flag) != 0;
    if (flags & NODE_FLAG(DRAIN))
        t->n[busy ? NODE_COUNT_DRAINING : NODE_COUNT_DRAINED]++;
}

void metrictally_node(struct node_tally *into, const Pst__NodeRecord *node,
                      const struct node_values *values)
{
    const struct names_node n = names_node_of(node);
    enum node_counter state = counter_of_node(&n);
    const uint64_t *v = values->v;

    into->nodes++;
    into->cpus += v[NODE_VALUE_CPUS];
    into->gpus += v[NODE_VALUE_GPUS];
    into->n[state]++;
    if (state == NODE_COUNT_FUTURE && n.flags & NODE_FLAG(DYNAMIC_NORM))
        into->n[NODE_COUNT_DYN_FUTURE]++;
    count_node_flags(into, n.flags, n.alloc_cpus > 0 || n.flags & NODE_FLAG(COMPLETING));
    into->n[NODE_COUNT_CPUS_EFCTV] += v[NODE_VALUE_CPUS_EFCTV];
    into->n[NODE_COUNT_CPUS_IDLE] += v[NODE_VALUE_CPUS_IDLE];
    into->n[NODE_COUNT_CPUS_ALLOC] += v[NODE_VALUE_CPUS_ALLOC];
    into->n[NODE_COUNT_MEM_ALLOC] += v[NODE_VALUE_MEM_ALLOC];
    into->n[NODE_COUNT_MEM_AVAIL] += v[NODE_VALUE_MEM_EFCTV];
    into->n[NODE_COUNT_MEM_FREE] += v[NODE_VALUE_MEM_FREE];
    into->n[NODE_COUNT_MEM_TOT] += v[NODE_VALUE_MEM];
}
