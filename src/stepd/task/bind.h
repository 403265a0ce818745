/* bind.h - tasks to CPUs: the masks of --cpu-bind, on the machine; stepd only */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/bitmap.h"
#include "stepd/env/envlist.h"

struct step;
struct child;

/* Work out the masks of the step's tasks and tell the common environment.  Where slurmd has sent no
 * processors nothing is bound.  A request that cannot be met fails the step. */
void bind_prepare(struct step *s);
/* The kernel's numbers of the CPUs that the step has on this node; the caller frees the set.  NULL:
 * slurmd binds no step to CPUs. */
struct bitmap *bind_step_cpus(const struct step *s);
/* The mask of a task, for child_start(). */
void bind_task(const struct step *s, size_t index, struct child *c);
/* With `verbose`: the line about it, on the task's own standard error. */
void bind_tell(const struct step *s, size_t index, pid_t pid, int fd);
/* Such a line: "WHAT=HOW - node1, task  0  0 [4711]: mask 0x3END"; of an empty mask "WHAT=NONE"
 * and without the end. */
struct bind_words {
    const char *what, *how, *end;
    const struct bitmap *mask;
};
void bind_line(const struct step *s, size_t index, pid_t pid, int fd, const struct bind_words *w);
/* The kernel's numbers of a task's CPUs; NULL: it is not bound. */
const struct bitmap *bind_cpus(const struct step *s, size_t index);
void bind_done(struct step *s);
