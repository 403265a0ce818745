/* cliques.h - NVLink cliques: what nvidia-smi answers on each node
 *
 * Lines `NODE: UUID, CLIQUE`, as pdsh collects them from
 *     nvidia-smi --query-gpu=fabric.clusterUuid,fabric.cliqueId --format=csv,noheader
 * a line a GPU.  All GPUs of a node must agree; a node whose answer is empty or N/A has no domain.
 * Lines that begin with # are passed over. */
#pragma once

#include <stddef.h>

#include "topograph/graph.h"

/* Give nodes the domain UUID.CLIQUE.  wanted as in ibnet_read().  Errors: -EINVAL (the line is
 * named), -E2BIG, -ENOMEM. */
int cliques_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
                 struct err *err);
