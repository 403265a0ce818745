/* joblog.h - the life of jobs in the daemon log, at level info
 *
 * A line an event, which begins with JobId=N as operators search for it:
 *
 *     JobId=12 submitted by alice: partition debug
 *     JobId=12 started: partition debug, 4 CPUs on node[1-2]
 *     JobId=12 ended: FAILED, exit 2:0, after 61 s
 *     JobId=12 is queued again
 *
 * A task of an array is JobId=10_3(13).  The exit code stands before the signal.  Words of users
 * are one line by the rules of base/safetext.h before they are in a record. */
#pragma once

#include <stddef.h>

#include "event.pb-c.h"
#include "job.pb-c.h"

#define JOBLOG_LINE_MAX 512u

/* The line of an event of a job, cut to JOBLOG_LINE_MAX with its end.  0: the event has no line. */
size_t joblog_line(const Pst__JobRecord *r, Pst__EventKind kind, char buf[JOBLOG_LINE_MAX]);
