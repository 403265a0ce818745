/* nodetable.h - nodes that operators make and delete while the controller runs.  Core thread. */
#pragma once

#include "ctld/ctld.h"

/* Why a node (NULL: there is none) cannot be deleted: an ESLURM code, or 0. */
int nodetable_keeps(struct ctld *ctld, const struct node *n);
