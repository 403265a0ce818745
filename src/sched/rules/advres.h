/* advres.h - advance reservations: which jobs may have which nodes when */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/sched.h"

struct bitmap;
struct entry;
struct pick;
struct sched;

/* Take from mask what p's job may not have in its span.  False: nothing is left. */
bool adv_keep(const struct pick *p, struct bitmap *mask);
bool adv_cored(const struct sched *s, uint32_t id); /* cores of this node are reserved */
/* CPUs of the node that p's job may not have, NULL = none of that kind; valid until the next
 * call. */
const uint64_t *adv_blocked(const struct pick *p, uint32_t id);
/* How long a job in resv that begins then may hold alloc, at most to_us. */
int64_t adv_limit(const struct sched *s, uint32_t resv, const struct sched_alloc *alloc,
                  int64_t from_us, int64_t to_us);
/* p would hold its nodes for so long from then on: reservations are heeded. */
void adv_span(struct pick *p, int64_t from_us, uint32_t minutes);
uint32_t adv_level(const struct pick *p); /* windows that p's span meets */
bool adv_is_why(enum sched_why why);
/* Does a job before e wait for nodes of the same reservation in this walk? */
bool adv_blocked_walk(const struct sched *s, const struct entry *e);
void adv_block_walk(struct sched *s, const struct entry *e);
