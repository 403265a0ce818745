/* gpuenv.h - the GPUs of a step on this node, and the variables that tell programs of them; pure
 *
 * slurmd tells what each device number of an allocation is (StepFile.gpus).  Devices without a file
 * have no number that a program could use: nothing is said of them. */
#pragma once

#include <stddef.h>

#include "base/bitmap.h"
#include "stepd/env/envlist.h"
#include "stepfile.pb-c.h"

#define GPUS_MAX 1024u /* of a node */

/* list: room for GPUS_MAX; what it gets borrows from the step file. */
/* The GPUs of an allocation's part on this node, shared ones too, in the order of their numbers. */
size_t gpu_list(const Pst__StepFile *sf, Pst__GresAlloc *const *gres, size_t n,
                const Pst__Gpu **list);
/* Those of the step (of the job here for the batch step). */
size_t gpu_list_here(const Pst__StepFile *sf, const Pst__Gpu **list);
/* The same for the GPUs that the step has as a whole. */
size_t gpu_list_whole(const Pst__StepFile *sf, const Pst__Gpu **list);
/* Those of the job on this node. */
size_t gpu_list_job(const Pst__StepFile *gpus, const Pst__JobOnNode *on, const Pst__Gpu **list);
/* The variables that programs look at, for those of the list that are chosen (NULL: all). */
void gpu_put(const Pst__StepFile *sf, const Pst__Gpu *const *list, size_t n,
             const struct bitmap *chosen, struct envlist *el);
/* These for all, the counts, and SLURM_JOB_GPUS or SLURM_STEP_GPUS (id_var). */
void gpu_env(const Pst__StepFile *sf, Pst__GresAlloc *const *gres, size_t n, const char *id_var,
             struct envlist *el);
