/* scriptnode.h - the node of a job that runs its script: the first, or what --batch asks for
 *
 * Pure: reads the model. */
#pragma once

#include <stddef.h>

#include "model/cluster.h"

/* The place of the node that was chosen when the job started; 0 without --batch.  The job has
 * nodes. */
size_t scriptnode_position(const struct cluster *c, const Pst__JobRecord *job);
/* That node; NULL: it is gone. */
const struct node *scriptnode_of(const struct cluster *c, const Pst__JobRecord *job);
