/* adopt.h - find a user's jobs on this node, and make a process part of a job
 *
 * Works on slurmd's spool directory and the sockets of the extern steps in it, without slurmd. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct adopt_job {
    uint32_t job_id;
    uint64_t run_id;
    int64_t start_us;
};
/* Count the jobs of uid on the node.  When there is a job, *ret_newest is the job that started
 * last.  Errors: those of opendir(3). */
int adopt_find(const char *spool, uid_t uid, struct adopt_job *ret_newest, size_t *ret_count);
/* Make the calling process a process of the job's extern step; see ask_adopt(). */
int adopt_join(const char *spool, const struct adopt_job *job, int *ret_ns, int *ret_flags);
