/* jobvalue.h - are the values of options of sbatch, srun and salloc what they should be?
 *
 * Pure but for --hint=help and the like, which print. */
#pragma once

#include "base/err.h"
#include "cli/base/opts.h"

/* The column KIND of jobopts.def. */
enum jobvalue_kind {
    KIND_FLAG, /* no value */
    KIND_TEXT,
    KIND_COUNT,     /* 1.. */
    KIND_COUNT0,    /* 0.. */
    KIND_TREEWIDTH, /* 1.. or "off" */
    KIND_SECS,      /* optional, 1 */
    KIND_SECS0,
    KIND_TIME,
    KIND_MEM,
    KIND_WHEN,
    KIND_NODES,
    KIND_BOOL, /* optional 0 or 1, yes or no */
    KIND_BIT,  /* a number, 0 or 1 */
    KIND_OFF,
    KIND_YESNO,
    KIND_ACCTG,
    KIND_ARRAY,
    KIND_DIST,
    KIND_EXCLUSIVE,
    KIND_CPUFREQ,
    KIND_GEOMETRY,
    KIND_GPUFREQ,
    KIND_GPUS,
    KIND_GPUBIND,
    KIND_GRES,
    KIND_GRESFLAGS,
    KIND_HINT,
    KIND_JOBID,
    KIND_MAILTYPE,
    KIND_MEMBIND,
    KIND_MEMUPDATE,
    KIND_CPUBIND,
    KIND_MPI,
    KIND_NICE,
    KIND_OPENMODE,
    KIND_PORTS,
    KIND_PRIORITY,
    KIND_PROFILE,
    KIND_PROPAGATE,
    KIND_REFUSE,
    KIND_REQUEUE,
    KIND_ROOTONLY,
    KIND_RUNTIME,
    KIND_SEGMENT,
    KIND_SIGNALOPT,
    KIND_SIGNALS,
    KIND_SLURMDDEBUG,
    KIND_SWITCHES,
    KIND_TRESTASK,
    KIND_WARN,
    KIND_X11,
};

/* --mem-update=MARGIN@DELAY: percent, and a time as --time takes it, not 0.  -EINVAL. */
#define MEMUPDATE_MARGIN_MAX 10000u
int memupdate_parse(const char *arg, uint32_t *ret_margin, uint32_t *ret_delay_s);

/* Returns 0, the exit status with the sentence in err, or -1: arg asked for a list, which was
 * printed. */
int jobvalue_check(enum jobvalue_kind kind, const struct opt *o, const char *arg, struct err *err);
