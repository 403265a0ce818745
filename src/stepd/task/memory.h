/* memory.h - tasks to NUMA domains: --mem-bind, on the machine; stepd only */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct step;
struct child;

/* Work out the domains of the step's tasks and tell the common environment; after
 * bind_prepare().  Where slurmd has sent no processors nothing is bound.  A request that cannot
 * be met fails the step. */
void memory_prepare(struct step *s);
/* The domains of a task, for child_start(). */
void memory_task(const struct step *s, size_t index, struct child *c);
/* With `verbose`: print the task's domains on its own standard error.  r: what the kernel answered
 * when the memory was bound, 0 or a negative errno. */
void memory_tell(const struct step *s, size_t index, pid_t pid, int r, int fd);
void memory_done(struct step *s);
