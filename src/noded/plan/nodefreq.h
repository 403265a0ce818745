/* nodefreq.h - which frequency the CPUs of a step are to have
 *
 * Steps of srun have what --cpu-freq or SLURM_CPU_FREQ_REQ says, else CpuFreqDef.  Batch scripts
 * and interactive steps have it where LaunchParameters says so.  Main thread. */
#pragma once

#include "noded/noded.h"

/* What the step's file says of frequencies; its job, step id and launch are there.  -ENOMEM. */
int nodefreq_plan(const struct noded *d, Pst__StepFile *sf);
