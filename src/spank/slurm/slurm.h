/* slurm.h - numbers of Slurm's interface that plugins use
 *
 * There is no library behind it: the programs that load plugins have what spank.h declares and
 * nothing else. */
#ifndef PENSTOCK_SLURM_H
#define PENSTOCK_SLURM_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "slurm_errno.h"
#include "slurm_version.h"

/* Steps that are not srun's, as S_JOB_STEPID names them. */
#define SLURM_PENDING_STEP 0xfffffffdu
#define SLURM_EXTERN_CONT 0xfffffffcu
#define SLURM_BATCH_SCRIPT 0xfffffffbu
#define SLURM_INTERACTIVE_STEP 0xfffffffau

/* Not given, and without limit. */
#define NO_VAL8 0xfeu
#define NO_VAL16 0xfffeu
#define NO_VAL 0xfffffffeu
#define NO_VAL64 UINT64_C(0xfffffffffffffffe)
#define INFINITE8 0xffu
#define INFINITE16 0xffffu
#define INFINITE 0xffffffffu
#define INFINITE64 UINT64_C(0xffffffffffffffff)

#endif
