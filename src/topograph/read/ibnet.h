/* ibnet.h - the text that ibnetdiscover prints, as a fabric
 *
 * Several outputs may follow each other; each line may begin with the name of the host that printed
 * it (pdsh).  Text without a line `Topology file:` is none: -EINVAL.
 *
 * A channel adapter belongs to a node when its description is two words, the node's name first
 * (`node01 mlx5_0`); others are passed over.  A switch's name stands between `;` and `:` of its
 * description, or is all of it. */
#pragma once

#include <stddef.h>

#include "topograph/graph.h"

#define IBNET_LINE_MAX 4096u

/* Add what the text says to g.  wanted (NULL: all) names the nodes that count.  On failure err
 * names the line.  Errors: -EINVAL, -E2BIG, -ENOMEM. */
int ibnet_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
               struct err *err);
