/* nsplan.h - autoscale: as many workers as the jobs that wait would start on
 *
 * spec.autoscale of our group: minReplicas, maxReplicas, idleSeconds, partitions.  Jobs that wait
 * for nodes are laid on workers of this set's size, the workers that are free first.  More are
 * wanted at once; fewer when workers have been idle for idleSeconds.  Pure. */
#pragma once

#include "kube/nodeset/nspod.h"

/* Does the NodeSet scale itself? */
bool nsplan_is_wanted(const json_t *nodeset);
/* pending: slurmnodes_pending().  How many workers the set should have; -1: what is known does not
 * say.  *ret_wake_s: when an idle worker may go, 0: none is. */
int64_t nsplan_replicas(const struct nsview *v, const json_t *pending, int64_t *ret_wake_s);
/* Tasks of an array, as "1-10,15:2%4" says, no more than most; 1: it is no array. */
int64_t nsplan_count_tasks(const char *text, int64_t most);
