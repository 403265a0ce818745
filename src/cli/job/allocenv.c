/* allocenv.c - the variables that describe a granted allocation; see allocenv.h */
#include "cli/job/allocenv.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "conf/conf.h"
#include "model/words/alloccpus.h"

#define NODES_MAX (1u << 20)

void allocenv_add_launchers(struct envlist *env, const struct conf *conf)
{
    static const char *const vars[][2] = {
#define V(name, value) { name, value },
#include "base/launchervars.def"
#undef V
    };
    const char *value;
    size_t len;

    if (conf_option(conf, CONF_MPI_PARAMS, "disable_slurm_hydra_bootstrap", &value, &len))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(vars); i++)
        if (!envlist_get(env, vars[i][0]))
            envlist_set(env, vars[i][0], vars[i][1]);
}

char *allocenv_counts(const uint32_t *values, size_t n)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    for (size_t i = 0; i < n;) {
        size_t run = 1;

        while (i + run < n && values[i + run] == values[i])
            run++;
        strbuf_addf(&sb, "%s%u", i ? "," : "", values[i]);
        if (run > 1)
            strbuf_addf(&sb, "(x%zu)", run);
        i += run;
    }
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text;
}

void allocenv_spread(uint32_t num_tasks, uint32_t cpus_per_task, const uint32_t *cpus, size_t n,
                     uint32_t *ret_tasks)
{
    bool full = false;

    for (size_t i = 0; i < n; i++)
        ret_tasks[i] = 0;
    while (num_tasks > 0 && n > 0) {
        bool placed = false;

        for (size_t i = 0; i < n && num_tasks > 0; i++) {
            if (!full && (uint64_t)(ret_tasks[i] + 1) * cpus_per_task > cpus[i])
                continue;
            ret_tasks[i]++;
            num_tasks--;
            placed = true;
        }
        full = full || !placed;
    }
}

/* CPUs of each node, in order.  *ret_n of them; the caller frees. */
static uint32_t *node_cpus(const Pst__Alloc *alloc, size_t *ret_n)
{
    size_t n = 0, at = 0;
    uint32_t *cpus;

    for (size_t i = 0; i < alloc->n_groups; i++)
        n += alloc->groups[i]->nodes;
    if (n > NODES_MAX)
        cli_fatal("the allocation has more than %u nodes", NODES_MAX);
    cpus = xmalloc_or_die((n + 1) * sizeof(*cpus));
    for (size_t i = 0; i < alloc->n_groups; i++) {
        for (uint32_t k = 0; k < alloc->groups[i]->nodes; k++)
            cpus[at++] = alloc_task_cpus(alloc->groups[i]);
    }
    *ret_n = n;
    return cpus;
}

/* The tasks of a job on n nodes, one on each at least; 0: it did not say. */
static uint32_t count_tasks(const Pst__JobRecord *job, size_t n)
{
    if (job->has_num_tasks)
        return MAX(job->num_tasks, (uint32_t)n);
    return job->has_ntasks_per_node ? job->ntasks_per_node * (uint32_t)n : 0;
}

static void add_layout(struct envlist *env, const Pst__JobRecord *job)
{
    size_t n = 0;
    _cleanup_free_ uint32_t *cpus = node_cpus(job->alloc, &n);
    uint32_t ntasks = count_tasks(job, n);
    _cleanup_free_ uint32_t *tasks = xmalloc_or_die((n + 1) * sizeof(*tasks));
    _cleanup_free_ char *cpu_text = allocenv_counts(cpus, n);
    _cleanup_free_ char *task_text = NULL;

    if (ntasks)
        allocenv_spread(ntasks, job->has_cpus_per_task ? job->cpus_per_task : 1, cpus, n, tasks);
    task_text = allocenv_counts(ntasks ? tasks : cpus, n);
    if (ntasks) {
        envlist_setf(env, "SLURM_NTASKS", "%u", ntasks);
        envlist_setf(env, "SLURM_NPROCS", "%u", ntasks);
    }
    envlist_set(env, "SLURM_JOB_CPUS_PER_NODE", cpu_text);
    envlist_set(env, "SLURM_TASKS_PER_NODE", task_text);
    envlist_setf(env, "SLURM_JOB_NUM_NODES", "%zu", n);
    envlist_setf(env, "SLURM_NNODES", "%zu", n);
    envlist_set(env, "SLURM_JOB_NODELIST", job->alloc->nodes ? job->alloc->nodes : "");
    envlist_set(env, "SLURM_NODELIST", job->alloc->nodes ? job->alloc->nodes : "");
}

static void add_text(struct envlist *env, const char *name, const char *value)
{
    if (value && *value)
        envlist_set(env, name, value);
}

void allocenv_add(struct envlist *env, const Pst__JobRecord *job)
{
    envlist_setf(env, "SLURM_JOB_ID", "%u", job->job_id);
    envlist_setf(env, "SLURM_JOBID", "%u", job->job_id);
    add_text(env, "SLURM_JOB_NAME", job->name);
    add_text(env, "SLURM_JOB_PARTITION", job->partition);
    if (job->has_stepmgr && job->stepmgr)
        add_text(env, "SLURM_STEPMGR", job->batch_host);
    add_text(env, "SLURM_JOB_ACCOUNT", job->account);
    add_text(env, "SLURM_JOB_QOS", job->qos);
    add_text(env, "SLURM_JOB_RESERVATION", job->reservation);
    add_text(env, "SLURM_CONTAINER", job->container);
    add_text(env, "SLURM_CONTAINER_ID", job->container_id);
    if (job->alloc)
        add_layout(env, job);
}

/* ---- heterogeneous jobs ---------------------------------------------------------------------- */

/* What one component's variables are, under both names that scripts know. */
static void add_component(struct envlist *env, const Pst__JobRecord *job)
{
    static const char *const forms[] = { "HET", "PACK" };
    _cleanup_val_(envlist_done) struct envlist own = ENVLIST_INIT;

    allocenv_add(&own, job);
    for (size_t i = 0; i < own.n; i++) {
        const char *value = strchr(own.items[i], '=') + 1;

        for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
            _cleanup_free_ char *name =
                xasprintf_or_die("%.*s_%s_GROUP_%u", (int)(value - 1 - own.items[i]), own.items[i],
                                 forms[f], job->het_offset);

            envlist_set(env, name, value);
        }
    }
}

void allocenv_add_het(struct envlist *env, Pst__JobRecord *const *jobs, size_t n)
{
    envlist_setf(env, "SLURM_HET_SIZE", "%zu", n);
    envlist_setf(env, "SLURM_PACK_SIZE", "%zu", n);
    envlist_setf(env, "SLURM_JOB_ID", "%u", jobs[0]->job_id);
    for (size_t i = 0; i < n; i++)
        add_component(env, jobs[i]);
}
