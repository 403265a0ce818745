/* gather.h - what the tasks of a step use, looked at now and then; stepd only
 *
 * One pass over the step's processes in /proc at the start, every interval, when sstat asks, and
 * at the end.  Processor time, transfers and the largest process come from wait(2) and from what
 * /proc keeps of a process that has ended, so that they are right even for a task that ended
 * between two passes.  Cgroups count memory and processor time by themselves; the other numbers
 * come from the processes then too. */
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "stepfile.pb-c.h"

struct step;

enum gather_flag {
    GATHER_PSS = 1u << 0,      /* memory: a process's part of what several share */
    GATHER_UNSHARED = 1u << 1, /* without what they share */
    GATHER_LIMIT = 1u << 2,    /* end a step that uses more memory than it has */
    GATHER_CGROUP = 1u << 3,   /* memory and CPU time by the tasks' cgroups, where these count */
    GATHER_GPU = 1u << 5,      /* what GPUs are used for */
    GATHER_NO_CACHE = 1u << 4, /* with it: without the files that are kept in memory */
};

/* Make s->gather, when the use of tasks is to be measured; look for the first time. */
void gather_start(struct step *s);
/* Look again when it is time; when that is (0 = never). */
void gather_tick(struct step *s, int64_t now_mono);
int64_t gather_due_us(const struct step *s);
/* A child that ended, not yet waited for; then what wait(2) said. */
void gather_zombie(struct step *s, pid_t pid);
void gather_reaped(struct step *s, pid_t pid, const struct rusage *ru);
/* Put the figures into s->usage. */
void gather_finish(struct step *s);
/* Answer sstat on a connection; takes fd. */
void gather_answer(struct step *s, int fd, const Pst__StepOrder *order);
void gather_done(struct step *s);
