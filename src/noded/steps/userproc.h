/* userproc.h - processes that serve a connection as the user, for a job but in no step */
#pragma once

#include "noded/noded.h"

/* -EAGAIN: the user has too many. */
int userproc_room(const struct noded *d, uint32_t uid, struct err *err);
/* Make pid, a child of ours that was started with this credential, a process of the job: it gets a
 * cgroup of the job and ends with the job.  On failure the child is killed. */
int userproc_add(struct noded *d, const Pst__StepCredential *cred, pid_t pid, const char *kind,
                 struct err *err);
/* Nothing else of the job is left on this node: its user processes get a moment to end. */
void userproc_job_over(struct noded *d, uint32_t job_id, uint64_t run_id);
void userproc_recover(struct noded *d); /* those of an earlier slurmd; after recover_spool() */
void userproc_close(struct noded *d);
