/* conf_topocheck.h - what a line of a topology does not show alone; private to src/conf */
#pragma once

#include "conf/topo/conf_topo_priv.h"

/* Names that are there twice, children that form no tree, block sizes, rings, nodes that are
 * unknown or in no unit.  names: of the switches below each switch, host lists or NULL, one for
 * each unit; NULL unless a tree. */
void conf_topocheck(struct topo_loader *tl, struct conf_topo *t, const char *const *names);
