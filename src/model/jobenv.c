/* jobenv.c - what scripts of the site are told about a job; see jobenv.h.
 *
 * Patterns in paths are as the user wrote them: they are expanded where the files are opened. */
#include "model/jobenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/safetext.h"

#define USEC INT64_C(1000000)
#define CPUS_TEXT_MAX 4096

struct out {
    jobenv_put_fn *put;
    void *ctx;
};

/* Scripts of the site write what they get into files with lines. */
static void put_variable(const struct out *o, const char *name, const char *value)
{
    char *copy;

    if (!value || safetext_is_line(value)) {
        if (value)
            o->put(o->ctx, name, value);
        return;
    }
    copy = strdup(value);
    if (copy) {
        safetext_clean(copy);
        o->put(o->ctx, name, copy);
    }
    free(copy);
}

static void put_num(const struct out *o, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    o->put(o->ctx, name, text);
}

/* "2(x2),1": the CPUs of each node. */
static void cpus_text(const Pst__Alloc *a, char *buf, size_t size)
{
    size_t at = 0, i = 0, n = a ? a->n_groups : 0;

    buf[0] = '\0';
    while (i < n && at < size) {
        uint32_t cpus = a->groups[i]->cpus, nodes = 0;

        for (; i < n && a->groups[i]->cpus == cpus; i++)
            nodes += a->groups[i]->nodes;
        at += (size_t)snprintf(buf + at, size - at, nodes > 1 ? "%s%u(x%u)" : "%s%u", at ? "," : "",
                               cpus, nodes);
    }
}

static void put_identity(const struct out *o, const Pst__JobRecord *j, const char *cluster)
{
    put_variable(o, "SLURM_CLUSTER_NAME", cluster);
    put_num(o, "SLURM_JOB_ID", j->job_id);
    put_num(o, "SLURM_JOBID", j->job_id);
    put_num(o, "SLURM_JOB_UID", j->uid);
    put_num(o, "SLURM_JOB_GID", j->gid);
    put_variable(o, "SLURM_JOB_USER", j->user_name);
    put_variable(o, "SLURM_JOB_SLUID", j->sluid);
    put_variable(o, "SLURM_JOB_PARTITION", j->partition);
    put_variable(o, "SLURM_JOB_ACCOUNT", j->account);
    put_variable(o, "SLURM_JOB_QOS", j->qos);
    put_variable(o, "SLURM_JOB_RESERVATION", j->reservation);
    put_variable(o, "SLURM_JOB_LICENSES", j->licenses);
}

/* A file's name as the job means it: below its directory. */
static void put_path(const struct out *o, const char *name, const char *path, const char *dir)
{
    _cleanup_free_ char *full = NULL;

    if (path[0] == '/' || !dir || asprintf(&full, "%s/%s", dir, path) < 0)
        full = NULL;
    put_variable(o, name, full ? full : path);
}

static void put_files(const struct out *o, const Pst__JobRecord *j)
{
    put_variable(o, "SLURM_JOB_WORK_DIR", j->work_dir);
    if (!j->batch)
        return; /* the streams are those of the command */
    put_variable(o, "SLURM_JOB_STDIN", j->std_in && *j->std_in ? j->std_in : "/dev/null");
    if (j->std_out)
        put_path(o, "SLURM_JOB_STDOUT", j->std_out, j->work_dir);
    else
        put_variable(o, "SLURM_JOB_STDOUT",
                     j->has_array_task_id ? "slurm-%A_%a.out" : "slurm-%j.out");
    if (j->std_err)
        put_path(o, "SLURM_JOB_STDERR", j->std_err, j->work_dir);
}

static void put_times(const struct out *o, const Pst__JobRecord *j)
{
    /* a job that never ran began when it ended, as squeue has it */
    put_num(o, "SLURM_JOB_START_TIME",
            (uint64_t)((j->start_us || !j->has_end_us ? j->start_us : j->end_us) / USEC));
    if (j->has_end_us)
        put_num(o, "SLURM_JOB_END_TIME", (uint64_t)(j->end_us / USEC));
    else if (!j->start_us)
        put_num(o, "SLURM_JOB_END_TIME", 0);
    else if (j->has_time_limit_min)
        put_num(o, "SLURM_JOB_END_TIME",
                (uint64_t)(j->start_us / USEC + (int64_t)j->time_limit_min * 60));
}

/* What plugins of the submitting command had to say. */
static void put_plugins(const struct out *o, const Pst__JobRecord *j)
{
    for (size_t i = 0; i < j->n_spank_job_env; i++) {
        const char *text = j->spank_job_env[i], *eq = strchr(text, '=');
        char name[256];

        if (safetext_is_variable(text) && (size_t)snprintf(name, sizeof(name), "SPANK_%.*s",
                                                           (int)(eq - text), text) < sizeof(name))
            o->put(o->ctx, name, eq + 1);
    }
}

void jobenv_job(const Pst__JobRecord *j, const char *cluster, const char *cpus_per_node,
                jobenv_put_fn *put_fn, void *ctx)
{
    static const char *const exclusive[] = { "NO", "NODE", "USER", "MCS", "TOPO" };
    const struct out o = { .put = put_fn, .ctx = ctx };
    char cpus[CPUS_TEXT_MAX];

    put_identity(&o, j, cluster);
    put_files(&o, j);
    put_times(&o, j);
    put_variable(&o, "SLURM_JOB_COMMENT", j->comment);
    put_variable(&o, "SLURM_JOB_CONSTRAINTS", j->features);
    put_variable(&o, "SLURM_JOB_EXTRA", j->extra);
    put_variable(&o, "SLURM_JOB_OVERSUBSCRIBE", j->oversubscribe ? "YES" : "NO");
    put_variable(
        &o, "SLURM_JOB_EXCLUSIVE",
        exclusive[j->exclusive < 5 && j->exclusive ? j->exclusive : (uint32_t)j->whole_nodes]);
    put_num(&o, "SLURM_JOB_RESTART_COUNT", j->restart_count);
    put_plugins(&o, j);
    if (!j->alloc)
        return;
    put_variable(&o, "SLURM_JOB_NODELIST", j->alloc->nodes);
    put_num(&o, "SLURM_JOB_NUM_NODES", j->alloc->n_node_ids);
    cpus_text(j->alloc, cpus, sizeof(cpus));
    put_variable(&o, "SLURM_JOB_CPUS_PER_NODE", cpus_per_node ? cpus_per_node : cpus);
}

void jobenv_end(uint32_t exit_status, uint32_t derived_status, jobenv_put_fn *put_fn, void *ctx)
{
    const struct out o = { .put = put_fn, .ctx = ctx };
    int status = (int)exit_status, derived = (int)derived_status;
    char text[24];

    put_num(&o, "SLURM_JOB_EXIT_CODE", exit_status);
    (void)snprintf(text, sizeof(text), "%d:%d", WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                   WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    put_variable(&o, "SLURM_JOB_EXIT_CODE2", text);
    put_num(&o, "SLURM_JOB_DERIVED_EC", (uint64_t)derived);
}
