/* swf.h - workload traces in the Standard Workload Format
 *
 * Eighteen numbers a line, -1 where unknown, and header lines that begin with ';'.  Used are:
 * job number, submit, wait and run time, processors and memory allocated and requested,
 * requested time, status, user, group (its account) and queue. A processor is a CPU here, and a
 * job's processors are its tasks.  Of a job that was broken off and went on the line of the
 * whole counts (status 0 and 1), not those of its
 * parts (2 to 4).  Of the header MaxNodes, MaxProcs, UnixStartTime and AllowOveruse count.  Pure:
 * text in, workload out. */
#pragma once

#include <stddef.h>

#include "sim/workload.h"

#define SWF_MAX_LINE 4096u
#define SWF_MAX_TIME_S INT64_C(10000000000) /* of any time in a trace */

/* Append the trace in text (len bytes, need not end in NUL) to w; sorts it.  Records of jobs that
 * never ran are counted in w->skipped.  Errors: -EINVAL a line that is no record (err names it),
 * -E2BIG too many jobs or users, -ENOMEM. */
int swf_parse(const char *text, size_t len, struct workload *w, struct err *err);
