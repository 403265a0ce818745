/* queuewalk.h - going through the queues of all partitions in one order, and the decisions that
 * come of it */
#pragma once

#include <stdbool.h>

#include "sched/sched.h"

struct entry;
struct sched;

void walk_begin(struct sched *s);
bool walk_goes_before(const struct sched *s, const struct entry *a, const struct entry *b);
struct entry *
walk_next(struct sched *s); /* highest of the partitions still active; NULL at the end */
void walk_skip(struct sched *s, struct entry *e);
/* Go on behind the entry that the plan looked at last. */
void walk_resume(struct sched *s);
/* e does not start for this reason: park it, or make it the head its partition waits for. */
void walk_refuse(struct sched *s, struct entry *e, enum sched_why why);
/* As walk_skip(), with a reason. */
void walk_note(struct sched *s, struct entry *e, enum sched_why why);
int walk_finish(struct sched *s, struct sched_decisions *out); /* tell what changed */
