/* nodetaint.h - the taint of nodes that both Kubernetes and Slurm have
 *
 * BRIDGE_TAINT=SCHEDULER:NoExecute keeps pods away that no job of Slurm places.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Does the pod tolerate the taint of this scheduler's name? */
bool nodetaint_tolerates(const json_t *pod, const char *scheduler);
/* The pod's tolerations, and that of the taint; NULL: no memory. */
json_t *nodetaint_tolerations(const json_t *pod, const char *scheduler);
/* Is a change of the node's taints needed, so that it has the taint, or has it not?  Those of other
 * keys and values stay. */
bool nodetaint_differs(const json_t *node, const char *scheduler, bool managed);
/* The change, as a merge patch that holds for the version of the node that was seen alone; NULL: no
 * memory. */
json_t *nodetaint_change(const json_t *node, const char *scheduler, bool managed);
