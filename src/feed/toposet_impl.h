/* toposet_impl.h - what toposet.c and topomember.c share */
#pragma once

#include "feed/toposet.h"

struct set_unit {
    char *name;
    uint32_t *nodes, *children;
    size_t nnodes, nodes_cap, nchildren, children_cap;
    uint32_t link_speed, dims[3];
};

struct set_topo {
    char *name;
    enum topo_kind kind;
    unsigned flags;
    struct set_unit *units;
    size_t nunits, units_cap;
    size_t file_units; /* the first so many */
    uint32_t *sizes;
    size_t nsizes;
    struct topo_placement_spec *places;
    size_t nplaces;
    struct topo_unit_spec *views; /* of the last toposet_specs() */
};

struct toposet {
    struct set_topo *topos;
    size_t n;
    struct topo_spec *specs;
};

/* topomember.c's changes, of which toposet.c knows the memory. */
struct set_unit *toposet_add_unit(struct set_topo *t, const char *name, size_t len);
void toposet_add_node(struct set_unit *u, uint32_t node, size_t at); /* at <= nnodes */
void toposet_sort_in(struct set_unit *u, uint32_t node);             /* ascending ids, each once */
void toposet_add_child(struct set_unit *u, uint32_t child);
