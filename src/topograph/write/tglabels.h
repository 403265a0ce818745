/* tglabels.h - a graph as labels of Kubernetes' nodes, and as the list of instances that it is
 *
 * Labels: fabric.topograph.run/tier-0 (the closest switch), -1, ...,
 * accelerator.topograph.run/domain and sub-domain.  A value that cannot be one (longer than 63
 * bytes, other characters) is `x` and 16 hexadecimal digits of its FNV-1a hash. */
#pragma once

#include "topograph/graph.h"

struct tglabels_params {
    const char *tiers[GRAPH_TIERS_MAX]; /* keys in place of tier-0, tier-1 ...; borrowed */
    size_t ntiers;
    const char *domain;  /* key in place of accelerator.topograph.run/domain, NULL: that */
    bool foreign_domain; /* another label has the authority over domains: write none */
};

/* {"nodes": [{"name": ..., "labels": {...}}]} */
int tglabels_kubernetes(const struct graph *g, const struct tglabels_params *p, struct strbuf *out,
                        struct err *err);
/* {"instances": [{"id": ..., "network_layers": [closest first], "labels": {...}}]} */
int tglabels_instances(const struct graph *g, struct strbuf *out, struct err *err);
