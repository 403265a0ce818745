/* adopt.h - a user's jobs on this node, and how a process becomes one of a job's
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
/* How many jobs of uid are on the node; the one that started last is in *ret_newest, when there is
 * one. Errors: as of opendir(3). */
int adopt_find(const char *spool, uid_t uid, struct adopt_job *ret_newest, size_t *ret_count);
/* Make the calling process one of the job's extern step, as ask_adopt() does. */
int adopt_join(const char *spool, const struct adopt_job *job, int *ret_ns, int *ret_flags);
