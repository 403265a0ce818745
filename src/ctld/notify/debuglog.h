/* debuglog.h - what changed in the cluster, told to the daemon log by subject: DebugFlags
 *
 * Everything that changes is an event of the log of changes, so one observer of events has the
 * lines of many subjects:
 *
 *     TraceJobs: JobId=12 job-start: RUNNING, reason None
 *     SelectType: JobId=12 gets node[1-2]: cpu=4,mem=4G,node=2
 *     License: JobId=12 takes matlab:2
 *     Steps: StepId=12.0 step-end: COMPLETED on node1, exit status 0
 *     Power: node node1: IDLE+POWERING_UP
 *     Reservation: weekly is from 2026-01-02T03:04:05 to 2026-01-02T05:04:05 on node[1-4]
 *
 * What is no event (a plan, a message, a program) is told where it happens. */
#pragma once

#include "base/logflags.h"
#include "event.pb-c.h"
#include "job.pb-c.h"
#include "node.pb-c.h"
#include "resv.pb-c.h"

#define DEBUGLOG_LINE_MAX 1024u

/* The line of an event for one subject, without the word of the subject, cut to the size of buf.
 * False: the subject has nothing to say of the event. */
bool debuglog_job(enum log_subject subject, const Pst__JobRecord *r, Pst__EventKind kind,
                  char buf[DEBUGLOG_LINE_MAX]);
bool debuglog_step(uint32_t job_id, const Pst__StepRecord *r, Pst__EventKind kind,
                   char buf[DEBUGLOG_LINE_MAX]);
bool debuglog_node(enum log_subject subject, const Pst__NodeRecord *r, Pst__EventKind kind,
                   char buf[DEBUGLOG_LINE_MAX]);
void debuglog_resv(const Pst__ReservationRecord *r, char buf[DEBUGLOG_LINE_MAX]);
