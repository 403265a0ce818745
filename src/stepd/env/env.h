/* env.h - the variables that batch scripts and tasks see
 *
 * Pure functions of the step file (and the host's name).  The list keeps copies of what it sets and
 * borrows what was submitted: the step file must outlive it. */
#pragma once

#include "stepfile.pb-c.h"
#include "stepd/env/envlist.h"

/* Which variables tell a program of a GPU (Gpu.env); none set = all. */
enum gpu_env {
    GPU_ENV_CUDA = 1u << 0,
    GPU_ENV_ROCR = 1u << 1,
    GPU_ENV_ZE = 1u << 2,
    GPU_ENV_OPENCL = 1u << 3,
    GPU_ENV_NONE = 1u << 4,
    GPU_ENV_UUID = 1u << 5, /* by UUID, not by number */
};

/* What a script of a heterogeneous job learns of its n components; none: it is no such job. */
void env_het(struct envlist *el, Pst__JobRecord *const *jobs, size_t n);

/* The batch script's.  host: for HOSTNAME. */
void env_batch(const Pst__StepFile *sf, const char *host, struct envlist *el);
/* What all tasks of the step have on this node; then per task env_task_rank() on a borrowed
 * copy. */
void env_step(const Pst__StepFile *sf, const char *launcher_addr, uint16_t launcher_port,
              struct envlist *el);
void env_task_rank(const Pst__LaunchStep *launch, uint32_t local_index, struct envlist *el);
/* A folder for temporary files that exists.  Last of all: a prolog may name or make one. */
void env_tmpdir(struct envlist *el);
/* Prolog and Epilog of slurmd.  context: "prolog_slurmd" or "epilog_slurmd". */
void env_script(const Pst__JobOnNode *on, const char *context, const char *conf_path,
                struct envlist *el);
/* The job's GPUs; gpus: those of the node. */
void env_script_gpus(const Pst__StepFile *gpus, const Pst__JobOnNode *on, struct envlist *el);
/* The end of the job, for the epilog. */
void env_script_end(uint32_t exit_status, uint32_t derived, struct envlist *el);

/* "2(x2),1": what each node of an allocation has.  tasks: AllocGroup.tasks instead of .cpus.  The
 * caller frees; NULL, with el->failed: out of memory. */
char *env_counts(struct envlist *el, const Pst__Alloc *alloc, bool tasks);
uint32_t env_alloc_nodes(const Pst__Alloc *alloc);
/* CPUs of the cores that a step holds on a node. */
uint32_t env_held_cpus(const Pst__AllocGroup *g);
/* What a step of srun holds on this node; NULL: unknown, or the batch step. */
const Pst__AllocGroup *env_step_group(const Pst__StepFile *sf);
