/* nodedevices.h - a node's generic resources as users are told: with the types that shares of GPUs
 * have from their GPUs, and the sockets that devices are near to */
#pragma once

#include "base/strbuf.h"
#include "node.pb-c.h"

/* "gpu:tesla:4(S:0-1),mps:tesla:400(S:0-1),nic:2"; nothing where it has none.  What an operator has
 * set is shown as it is. */
void nodedevices_put(struct strbuf *sb, const Pst__NodeRecord *n);
/* The type of the node's GPUs, where they have one type; else NULL.  Caller frees. */
char *nodedevices_gpu_type(const char *gres);
