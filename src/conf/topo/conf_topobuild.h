/* conf_topobuild.h - what the readers of topologies build with; private to src/conf */
#pragma once

#include "conf/topo/conf_topo_priv.h"

/* Append an empty topology.  NULL: out of memory, or too many (noted). */
struct conf_topo *conf_topo_add(struct topo_loader *tl, const char *name, unsigned line);
/* Append a unit to the last topology, its name checked and copied.  NULL likewise; a name that is
 * no name is noted, and the unit is there all the same. */
struct conf_topo_unit *conf_topo_add_unit(struct topo_loader *tl, struct conf_topo *t,
                                          const char *name, unsigned line);
/* The nodes of a host list in their order, in the pool.  False: noted, or out of memory. */
bool conf_topo_nodes(struct topo_loader *tl, const char *list, unsigned line, const char ***ret,
                     size_t *ret_n);
/* Zeroed memory that goes with the topologies; NULL: out of memory, and tl->no_memory says so. */
void *conf_topo_alloc(struct topo_loader *tl, size_t n, size_t size);
char *conf_topo_strdup(struct topo_loader *tl, const char *text);
