/* conf_topotorus.h - cells and placements of toruses; private to src/conf
 *
 * Cell x, y, z is at x + X * (y + Y * z). */
#pragma once

#include "conf/topo/conf_topo_priv.h"

/* Give the torus its empty cells.  False: noted, or out of memory. */
bool conf_topotorus_dims(struct topo_loader *tl, struct conf_topo_unit *u, const uint32_t dims[3]);
/* Put n nodes into a box of cells, x fastest.  Mistakes are noted. */
void conf_topotorus_region(struct topo_loader *tl, struct conf_topo_unit *u, unsigned line,
                           const uint32_t anchor[3], const uint32_t dims[3],
                           const char *const *nodes, size_t n);
/* Does the placement fit into the torus?  False: noted. */
bool conf_topotorus_place(struct topo_loader *tl, const struct conf_topo_unit *u, unsigned line,
                          const struct conf_topo_place *p);
void conf_topotorus_sort(struct conf_topo_unit *u); /* placements by size */
