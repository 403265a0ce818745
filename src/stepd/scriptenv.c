/* scriptenv.c - the environment of Prolog and Epilog; see env.h
 *
 * Built from nothing (no PATH: these scripts run as slurmd's user and name what they run).  Pure.
 */
#include <stdio.h>
#include <sys/wait.h>

#include "stepd/env.h"

#define USEC INT64_C(1000000)

static void set_paths(const Pst__JobRecord *j, struct envlist *el)
{
    envlist_set(el, "SLURM_JOB_WORK_DIR", j->work_dir);
    envlist_set(el, "SLURM_JOB_STDIN", j->std_in ? j->std_in : "/dev/null");
    if (j->std_out)
        envlist_set(el, "SLURM_JOB_STDOUT", j->std_out);
    else if (j->batch)
        envlist_set(el, "SLURM_JOB_STDOUT",
                    j->has_array_task_id ? "slurm-%A_%a.out" : "slurm-%j.out");
    envlist_set(el, "SLURM_JOB_STDERR", j->std_err);
    envlist_set(el, "SLURM_JOB_COMMENT", j->comment);
    envlist_set(el, "SLURM_JOB_CONSTRAINTS", j->features);
    envlist_set(el, "SLURM_JOB_EXTRA", j->extra);
}

void env_script(const Pst__JobOnNode *on, const char *context, const char *conf_path,
                struct envlist *el)
{
    static const char *const exclusive[] = { "NO", "NODE", "USER", "MCS", "TOPO" };
    const Pst__JobRecord *j = on->job;
    const char *nodes = j->alloc && j->alloc->nodes ? j->alloc->nodes : on->node_name;
    uint32_t count = env_alloc_nodes(j->alloc);
    char cpus[512];

    envlist_set(el, "SLURM_SCRIPT_CONTEXT", context);
    envlist_set(el, "SLURMD_NODENAME", on->node_name);
    envlist_set(el, "SLURM_CLUSTER_NAME", on->cluster_name);
    envlist_set(el, "SLURM_CONF", conf_path);
    envlist_setu(el, "SLURM_JOB_ID", j->job_id);
    envlist_setu(el, "SLURM_JOBID", j->job_id);
    envlist_setu(el, "SLURM_JOB_UID", j->uid);
    envlist_setu(el, "SLURM_UID", j->uid);
    envlist_setu(el, "SLURM_JOB_GID", j->gid);
    envlist_set(el, "SLURM_JOB_USER", j->user_name);
    envlist_set(el, "SLURM_JOB_SLUID", j->sluid);
    envlist_set(el, "SLURM_JOB_PARTITION", j->partition);
    envlist_set(el, "SLURM_JOB_ACCOUNT", j->account);
    envlist_set(el, "SLURM_JOB_QOS", j->qos);
    envlist_set(el, "SLURM_JOB_RESERVATION", j->reservation);
    envlist_set(el, "SLURM_JOB_LICENSES", j->licenses);
    envlist_set(el, "SLURM_JOB_NODELIST", nodes);
    envlist_set(el, "SLURM_NODELIST", nodes);
    envlist_setu(el, "SLURM_JOB_NUM_NODES", count);
    env_counts(j->alloc, false, cpus, sizeof(cpus));
    envlist_set(el, "SLURM_JOB_CPUS_PER_NODE", on->cpus_per_node ? on->cpus_per_node : cpus);
    envlist_setu(el, "SLURM_JOB_NTASKS", j->has_num_tasks ? j->num_tasks : count);
    envlist_setu(el, "SLURM_JOB_CORE_SPEC_COUNT", j->core_spec);
    envlist_set(el, "SLURM_JOB_CORE_SPEC_TYPE", "cores");
    envlist_set(el, "SLURM_JOB_OVERSUBSCRIBE", j->oversubscribe ? "YES" : "NO");
    envlist_set(el, "SLURM_JOB_EXCLUSIVE", exclusive[j->exclusive < 5 ? j->exclusive : 0]);
    envlist_setu(el, "SLURM_JOB_RESTART_COUNT", j->restart_count);
    envlist_setu(el, "SLURM_JOB_START_TIME", (uint64_t)(j->start_us / USEC));
    if (j->has_end_us)
        envlist_setu(el, "SLURM_JOB_END_TIME", (uint64_t)(j->end_us / USEC));
    else if (j->has_time_limit_min)
        envlist_setu(el, "SLURM_JOB_END_TIME",
                     (uint64_t)(j->start_us / USEC + (int64_t)j->time_limit_min * 60));
    set_paths(j, el);
}

void env_script_end(uint32_t exit_status, uint32_t derived, struct envlist *el)
{
    int status = (int)exit_status;

    envlist_setu(el, "SLURM_JOB_EXIT_CODE", exit_status);
    envlist_setf(el, "SLURM_JOB_EXIT_CODE2", "%d:%d", WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    envlist_setu(el, "SLURM_JOB_DERIVED_EC", derived);
}
