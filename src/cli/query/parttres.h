/* parttres.h - the trackable resources of a partition, as scontrol and REST show them */
#pragma once

#include "cli/query/out_nodes.h"

struct conf;

/* What its nodes have, and every licence that is accounted: each partition has all of them.  Caller
 * frees *ret.  -ENOMEM. */
int parttres_make(const struct cluster_nodes *t, const struct cluster_part *part,
                  const struct conf *conf, char **ret);
