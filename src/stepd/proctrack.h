/* proctrack.h - which processes belong to a step, and how to end all of them
 *
 * Three ways: a cgroup of version 2, a cgroup of version 1 (freezer), or none: then the step daemon
 * is the subreaper of all it started and walks its descendants.  The cgroup serves when the step
 * daemon itself was killed, and wherever a process can hide from a walk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCTRACK_PATH 512

enum proctrack_kind {
    PROCTRACK_TREE,
    PROCTRACK_CGROUP1,
    PROCTRACK_CGROUP2,
};

/* What ProctrackType means on this machine.  root: where our subtree begins, "" for the tree walk.
 */
struct proctrack_mode {
    enum proctrack_kind kind;
    char root[PROCTRACK_PATH];
};
/* type: ProctrackType as configured (NULL = proctrack/cgroup); mount and slice: cgroup.conf.  Falls
 * back to the tree walk when there is no cgroup that we may write; makes nothing. */
void proctrack_probe(const char *type, const char *mount, const char *slice,
                     struct proctrack_mode *ret);
/* "cgroup/v2", "cgroup/v1", "subreaper" for the log. */
const char *proctrack_kind_name(enum proctrack_kind kind);

struct proctrack {
    enum proctrack_kind kind;
    char dir[PROCTRACK_PATH]; /* of the step's processes; "" when none */
    int join_fd; /* a child writes "0" here to belong to the step; -1 = nothing to do */
};
/* Begin tracking for node/job/step; on any failure of the cgroup the walk is used. */
void proctrack_begin(struct proctrack *pt, const struct proctrack_mode *mode, const char *node,
                     uint32_t job_id, const char *step_name);
/* Send sig to all processes of the step except the caller.  Returns how many were found. */
size_t proctrack_signal(const struct proctrack *pt, int sig);
/* Remove what proctrack_begin() made; call once all processes are gone. */
void proctrack_end(struct proctrack *pt);

/* After a step daemon was killed: SIGKILL what lives in the cgroup `dir`, remove it when empty.
 * True when nothing is left. */
bool cgroup_kill_dir(const char *dir);
size_t cgroup_signal_dir(const char *dir, int sig);
void cgroup_remove_dir(const char *dir);
