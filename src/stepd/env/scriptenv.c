/* scriptenv.c - the environment of Prolog and Epilog; see env.h
 *
 * Built from nothing (no PATH: these scripts run as slurmd's user and name what they run).  What
 * the controller's scripts see as well comes from model/jobenv.c.  Pure. */
#include "model/jobenv.h"
#include "stepd/env/env.h"

static void put_variable(void *ctx, const char *name, const char *value)
{
    envlist_set(ctx, name, value);
}

void env_script(const Pst__JobOnNode *on, const char *context, const char *conf_path,
                struct envlist *el)
{
    const Pst__JobRecord *j = on->job;
    const char *nodes = j->alloc && j->alloc->nodes ? j->alloc->nodes : on->node_name;

    jobenv_job(j, on->cluster_name, on->cpus_per_node, put_variable, el);
    envlist_set(el, "SLURM_SCRIPT_CONTEXT", context);
    envlist_set(el, "SLURMD_NODENAME", on->node_name);
    envlist_set(el, "SLURM_CONF", conf_path);
    if (j->het_job_id) { /* the node's scripts have to do with the component */
        envlist_setu(el, "SLURM_JOB_ID", j->job_id);
        envlist_setu(el, "SLURM_JOBID", j->job_id);
        envlist_setu(el, "SLURM_HET_JOB_ID", j->het_job_id);
    }
    envlist_setu(el, "SLURM_UID", j->uid);
    /* srun's credential knows no more than the name */
    envlist_set(el, "SLURM_JOB_NODELIST", nodes);
    envlist_set(el, "SLURM_NODELIST", nodes);
    if (j->has_num_tasks)
        envlist_setu(el, "SLURM_JOB_NTASKS", j->num_tasks);
    envlist_setu(el, "SLURM_JOB_CORE_SPEC_COUNT", j->core_spec);
    envlist_set(el, "SLURM_JOB_CORE_SPEC_TYPE", j->spec_threads ? "threads" : "cores");
}

void env_script_end(uint32_t exit_status, uint32_t derived, struct envlist *el)
{
    jobenv_end(exit_status, derived, put_variable, el);
}
