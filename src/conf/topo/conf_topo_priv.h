/* conf_topo_priv.h - what the readers of topology.conf and topology.yaml share; see conf_topo.h
 *
 * Strings live in the pool of the holder, arrays in the list `owned`; both go with the object. */
#pragma once

#include "conf/conf_priv.h"
#include "conf/topo/conf_topo.h"

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
