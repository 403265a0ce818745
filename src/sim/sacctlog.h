/* sacctlog.h - traces from what `sacct --parsable2` prints
 *
 * The first line names the columns, which may come in any order; columns that are not known are
 * passed over. Needed are Submit, a run time (ElapsedRaw, Elapsed, or Start and End) and a size
 * (ReqCPUS, AllocCPUS, NCPUS or the nodes).  Steps (JobID with a dot) and jobs that never ran
 * are counted in skipped, and with a column State those that have not ended.  Dates are local
 * time. Pure: text in, workload out. */
#pragma once

#include <stddef.h>

#include "sim/workload.h"

#define SACCT_MAX_LINE 65536u
#define SACCT_MAX_COLUMNS 512u

/* As swf_parse(). */
int sacct_parse(const char *text, size_t len, struct workload *w, struct err *err);
