/* queue.h - the queue of each partition, and the jobs that wait to enter a queue */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct job;
struct sched;

bool entry_before(const struct entry *a, const struct entry *b);
void queue_add(struct sched *s, struct entry *e);
void queue_remove(struct sched *s, struct entry *e); /* from queue or parking place */
void queue_park(struct sched *s, struct entry *e);
void job_set_fresh(struct sched *s, struct job *j);
void job_clear_fresh(struct sched *s, struct job *j);
void job_unqueue(struct sched *s, struct job *j); /* every entry, heap, fresh list */
int job_wait(struct sched *s, struct job *j);     /* into heap or fresh list, by eligible time */
/* Put due jobs and unparked entries on the fresh list. */
void queue_wake(struct sched *s, int64_t now_us);
