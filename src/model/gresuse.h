/* gresuse.h - which devices of a node its jobs hold; derived from their allocations
 *
 * One per node, owned by it; the core's thread. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "job.pb-c.h"
#include "node.pb-c.h"

struct gresuse;

/* A job's part of the node comes or goes.  *io_use is made when needed.  -ENOMEM: not counted. */
int gresuse_change(struct gresuse **io_use, const Pst__AllocGroup *group, bool add);
struct gresuse *gresuse_free(struct gresuse *use);
/* "gpu:a100:1(IDX:0),shard:8(3/4,-/4)" in the order of the node's Gres; use may be NULL.  Nothing
 * for a node without any. */
void gresuse_text(const struct gresuse *use, const Pst__NodeRecord *node, struct strbuf *out);
