/* topoclose.h - jobs with --exclusive=topo: no other job in base blocks, or rings, where they are
 *
 * Such a job holds all other nodes of its units too, as sched_alloc_node.closed: whatever counts
 * what is held, now or in a plan, then keeps other jobs away.  Decisions and limits leave them
 * out. */
#pragma once

#include <stdbool.h>

struct sched;
struct sched_alloc;
struct topo;

/* Has the topology units that can be closed?  NULL has none. */
bool topo_can_close(const struct topo *t);
/* Add to an allocation the other nodes of its units.  -ENOMEM. */
int topo_close_units(struct sched *s, const struct topo *t, struct sched_alloc *a);
