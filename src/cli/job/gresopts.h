/* gresopts.h - options of sbatch, srun and salloc that ask for generic resources, GPUs above all
 *
 * Their texts reach the record as they were typed; what is wrong with them that needs no cluster
 * is said here. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/cli.h"
#include "cli/job/jobopts.h"

/* jobopts_check() of a whole line, and what its options say of devices together; tasks and nodes
 * that follow from counts of GPUs are set.  Returns 0 or the exit status, the message printed. */
int gresopts_check(struct jobopts *jo);

/* What is told of them in a job or step; fields are replaced and owned by the message.  Either
 * returns 0, or the exit status with the sentence in err ("" = printed). */
int gresopts_fill_job(const struct jobopts *jo, const char *gres_types, Pst__JobRecord *job,
                      struct err *err);
int gresopts_fill_step(const struct jobopts *jo, const char *gres_types, Pst__StepSpec *spec,
                       struct err *err);

/* --gres=gpu:a100:2,shard -> "gres/gpu:a100:2,gres/shard"; every name must be in gres_types.
 * "none" gives NULL text.  Errors: -EINVAL with the sentence, -ENOMEM. */
int gresopts_list(const char *text, const char *gres_types, char **ret_text, struct err *err);
/* --gpus=a100:2,1 -> "gres/gpu:a100:2,gres/gpu:1"; errors as above. */
int gresopts_gpus(const char *text, char separator, char **ret_text, struct err *err);

/* -c, --tres-per-task and --gpus-per-task folded: "cpu=2,gres/gpu:a100=1", NULL when nothing is
 * asked for.  *ret_cpus (may be NULL): CPUs of a task, 0 = not said.  -ENOMEM. */
int gresopts_per_task(const struct jobopts *jo, char **ret_text, uint32_t *ret_cpus);

/* How tasks are bound to devices, "gres/gpu:closest": --tres-bind, --gpu-bind, or so many devices
 * for each task that asks for them.  NULL: not at all.  Caller frees; out of memory too is NULL. */
char *gresopts_bind(const struct jobopts *jo);
/* As above, of the GPUs of a step alone. */
char *gresopts_step_bind(const struct jobopts *jo);
