/* spares.h - nodes that are kept for expedited jobs
 *
 * Two kinds: of the idle nodes of each unit (a block, ring or leaf switch of the partition's
 * topology; the partition where that is flat) the last `expedite_spares`, and the healthy nodes of
 * every expedited job that waits.  No other job gets them.  The set is made anew at the begin of a
 * pass, and when an expedited job started: what other jobs take is never of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bitmap;
struct pick;
struct sched;

/* Make the set anew where something changed since.  O(nodes) then.  Errors: -ENOMEM, it stays. */
int spares_refresh(struct sched *s);
/* Take from mask what is kept from p's job. */
void spares_keep(const struct pick *p, struct bitmap *mask);
/* Is the node kept from p's job? */
bool spares_hold(const struct pick *p, uint32_t id);
/* An expedited job was given nodes, or came, or left. */
void spares_changed(struct sched *s);
/* Add to out the nodes of the units that `near` is in; of the whole partition where it is flat. */
void spares_add_units(const struct pick *p, const struct bitmap *near, struct bitmap *out);
/* The spares alone, without the healthy nodes of others; NULL: there are none. */
const struct bitmap *spares_idle(const struct sched *s);
void spares_done(struct sched *s);
