/* nodefeatures.h - which nodes have a feature, for constraint expressions (sched/base/constraint.h)
 *
 * Pure: reads the model. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bitmap.h"
#include "model/cluster.h"

struct node_features {
    const struct cluster *cluster;
    struct bitmap *set; /* of the cluster's size; valid until the next question */
    bool unknown;       /* a name was asked for that no node has */
};

/* The nodes that have the feature now.  arg is a struct node_features, whose set is answered. */
const struct bitmap *nodes_with_feature(void *arg, const char *name, size_t len);

/* Keep those of nodes that an alternative of the expression admits.  0; ESLURM_INVALID_FEATURE:
 * it is no expression, or no node of the cluster has a feature that it names; SLURM_ERROR. */
int nodes_keep_features(const struct cluster *c, const char *expr, struct bitmap *nodes);

/* The place in alloc of the first node that has the features of --batch.  0 without --batch, and
 * where no node of alloc has them: the job may have started on other nodes of its --constraint. */
size_t nodes_script_position(const struct cluster *c, const char *batch_features,
                             const Pst__Alloc *alloc);
