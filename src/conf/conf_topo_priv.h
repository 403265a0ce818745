/* conf_topo_priv.h - what the readers of topology.conf and topology.yaml share; see conf_topo.h
 *
 * Strings live in the pool of the holder, arrays in the list `owned`; both go with the object. */
#pragma once

#include "conf/conf_priv.h"
#include "conf/conf_topo.h"

struct conf_topos {
    struct conf *holder; /* owns the texts of the files and the pool of the strings */
    struct conf_topo *items;
    size_t n, cap;
    void **owned; /* arrays of the items */
    size_t nowned, owned_cap;
    bool yaml;
};

struct topo_loader {
    struct conf_loader l;    /* l.c is the holder */
    const struct conf *conf; /* slurm.conf */
    struct conf_topos *out;
    const char *file;
    size_t cells;   /* counted against CONF_TOPO_CELLS */
    bool no_memory; /* of an error that a person cannot repair */
};

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
