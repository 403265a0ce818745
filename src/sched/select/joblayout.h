/* joblayout.h - what exactly a job gets on the nodes chosen for it: tasks, CPUs, memory, devices */
#pragma once

struct pick;
struct sched_alloc;

int layout(const struct pick *p,
           struct sched_alloc *ret); /* of s->chosen; -EAGAIN when it does not come out */
/* As layout(): 1 with *ret, 0 when it does not come out, -ENOMEM. */
int layout_chosen(const struct pick *p, struct sched_alloc *ret);
/* Choose nodes and lay the job out on them: 1 with *ret, 0 it does not fit, -ENOMEM. */
int pick_layout(struct pick *p, struct sched_alloc *ret);
