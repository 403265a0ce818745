/* topoexpand.h - names of units in lists of nodes */
#pragma once

#include "ctld/ctld.h"

/* Replace functions of topologies in a host list, block{b1} and its like, and feature{f}, by the
 * nodes they stand for.  A list without functions is copied.  *ret_list is folded; free() it.  Core
 * thread.
 * -EINVAL: a function or a unit that is not there, or more nodes than a cluster has; -E2BIG: more
 * names than a host list has; -ENOMEM. */
int topology_expand(const struct ctld *ctld, const char *list, char **ret_list);
