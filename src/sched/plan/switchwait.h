/* switchwait.h - jobs that wait for a place below few switches, but not for ever */
#pragma once

#include <stdint.h>

struct entry;
struct sched;

/* The entry is about to be tried: its time begins, or is over, and then any switches will do.
 * -ENOMEM. */
int switch_wait_note(struct sched *s, struct entry *e, int64_t now_us);
/* Before queues are gone through: is some job's time over?  Then that is news for a backfill. */
void switch_wait_due(struct sched *s, int64_t now_us);
/* When to look again, INT64_MAX = never. */
int64_t switch_wait_wake(const struct sched *s);
