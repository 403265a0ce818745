/* env.h - the variables that batch scripts and tasks see
 *
 * Pure functions of the step file (and the host's name).  The list of variables has copies of the
 * variables that are set here.  The variables that were submitted are borrowed, so the step file
 * must outlive the list. */
#pragma once

#include "stepfile.pb-c.h"
#include "stepd/env/envlist.h"

/* Bits of Gpu.env: the variables that tell a program which GPUs it has.  No bit: all variables. */
enum gpu_env {
    GPU_ENV_CUDA = 1u << 0,
    GPU_ENV_ROCR = 1u << 1,
    GPU_ENV_ZE = 1u << 2,
    GPU_ENV_OPENCL = 1u << 3,
    GPU_ENV_NONE = 1u << 4,
    GPU_ENV_UUID = 1u << 5, /* by UUID, not by number */
};

/* The variables about the n components of a heterogeneous job; for any other job n is 0. */
void env_het(struct envlist *el, Pst__JobRecord *const *jobs, size_t n);

/* The variables of the batch script.  host: the value of HOSTNAME. */
void env_batch(const Pst__StepFile *sf, const char *host, struct envlist *el);
/* The variables that all tasks of the step on this node have.  env_task_rank() then adds those of
 * one task to a copy of the list that borrows from it. */
void env_step(const Pst__StepFile *sf, const char *launcher_addr, uint16_t launcher_port,
              struct envlist *el);
void env_task_rank(const Pst__LaunchStep *launch, uint32_t local_index, struct envlist *el);
/* Every task has a TMPDIR.  Call it last, since a prolog may name the folder; the task's process
 * replaces one that is missing (tmpdir of struct child). */
void env_tmpdir(struct envlist *el);
/* The variables of Prolog and Epilog of slurmd.  context: "prolog_slurmd" or "epilog_slurmd". */
void env_script(const Pst__JobOnNode *on, const char *context, const char *conf_path,
                struct envlist *el);
/* The variables about the job's GPUs.  gpus: a step file with the GPUs of the node. */
void env_script_gpus(const Pst__StepFile *gpus, const Pst__JobOnNode *on, struct envlist *el);
/* The variables of the epilog about the end of the job. */
void env_script_end(uint32_t exit_status, uint32_t derived, struct envlist *el);

/* A text like "2(x2),1": the CPUs of each node of an allocation or, with `tasks`, its tasks.  The
 * caller frees; NULL, with el->failed: out of memory. */
char *env_counts(struct envlist *el, const Pst__Alloc *alloc, bool tasks);
uint32_t env_alloc_nodes(const Pst__Alloc *alloc);
/* CPUs of the cores that a step holds on a node. */
uint32_t env_held_cpus(const Pst__AllocGroup *g);
/* What a step of srun holds on this node; NULL: that is unknown, or this is the batch step. */
const Pst__AllocGroup *env_step_group(const Pst__StepFile *sf);
