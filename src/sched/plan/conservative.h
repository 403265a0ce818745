/* conservative.h - backfill that gives every job it looks at a place in the plan */
#pragma once

#include <stdint.h>

struct bf;
struct entry;
struct pick;
struct sched;
struct sched_alloc;

int conservative_try(struct bf *b, struct entry *e); /* start it: 1, 0 it cannot, -ENOMEM */
/* The first slot from `from` on (a later one than now) with a place for it: 1 with what it would
 * get. */
int conservative_seek(struct sched *s, struct entry *e, uint32_t from, struct pick *ret_pick,
                      struct sched_alloc *ret_alloc);
/* What backfill does about one job; for sched_backfill() and for questions */
int conservative_consider(struct bf *b, struct entry *e);
/* Plan the jobs that go before `stop` (NULL: all that are ever planned), none starts.  s->prof
 * is set then. */
/* how many could start now */
int conservative_ahead(struct bf *b, const struct entry *stop, uint32_t *ret_now);
