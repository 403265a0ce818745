/* kubenodes.h - labels and annotations of Kubernetes' nodes (`kubectl get nodes -o json`)
 *
 * Domain: the label of the GPU operator (nvidia.com/gpu.clique, or another that the caller names),
 * else accelerator.topograph.run/domain and sub-domain, else the annotation
 * topograph.run/cluster-id.  Switches: labels fabric.topograph.run/tier-0 (closest), -1, ...
 * Instance: annotation topograph.run/instance, else the node's name. */
#pragma once

#include <stddef.h>

#include "topograph/graph.h"

#define KUBENODES_CLIQUE "nvidia.com/gpu.clique"
#define KUBENODES_TIER "fabric.topograph.run/tier-"
#define KUBENODES_DOMAIN "accelerator.topograph.run/domain"
#define KUBENODES_SUBDOMAIN "accelerator.topograph.run/sub-domain"

/* clique: label to read in place of KUBENODES_CLIQUE, may be NULL.  Errors: -EINVAL (err names the
 * item), -E2BIG, -ENOMEM. */
int kubenodes_read(const char *text, size_t len, const char *clique,
                   const struct graph_wanted *wanted, struct graph *g, struct err *err);
