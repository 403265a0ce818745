/* simmodel.h - models of clusters, YAML
 *
 *     switches:
 *       core: {switches: [spine-1, spine-2]}
 *       spine-1: {switches: [leaf-1-1, leaf-1-2]}
 *     blocks:
 *     - switch: leaf-1-1
 *       nodes: ["node[1101-1118]"]
 *       annotations: {accelerator.topology.test/domain: nvl-1-1}
 *
 * Annotations hold for everything below, the nearest one wins.  Switches that are only named are
 * made.  The instance of node h is i-h. */
#pragma once

#include <stddef.h>

#include "topograph/graph.h"

#define SIMMODEL_DOMAIN "accelerator.topology.test/domain"
#define SIMMODEL_SUBDOMAIN "accelerator.topology.test/sub-domain"

/* Errors: -EINVAL (err names the line), -E2BIG, -ENOMEM. */
int simmodel_read(const char *text, size_t len, const struct graph_wanted *wanted, struct graph *g,
                  struct err *err);
