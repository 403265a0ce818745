/* schedlog.h - SlurmSchedLogFile: what becomes of jobs by scheduling, in a file of its own
 *
 *     [2026-01-02T03:04:05] sched: JobId=12 starts on node1: partition main, cpu=4,node=1, by main
 *     [2026-01-02T03:05:05] sched: JobId=12 is preempted
 *
 * SlurmSchedLogLevel=1 and `scontrol schedloglevel` turn it on.  A file that was moved away is made
 * anew within a second.  Core thread. */
#pragma once

#include "ctld/ctld.h"
#include "event.pb-c.h"

#define SCHEDLOG_LINE_MAX 1024u

/* The words behind "sched: ", cut to the size of buf.  False: the event decides nothing. */
bool schedlog_line(const Pst__JobRecord *r, Pst__EventKind kind, char buf[SCHEDLOG_LINE_MAX]);

/* Is it on? */
bool schedlog_is_on(const struct ctld *ctld);
/* Until the configuration is read again.  0 or an ESLURM code: SlurmSchedLogFile is not set. */
int schedlog_set(struct ctld *ctld, bool on);

extern const struct ctld_service schedlog_service;
