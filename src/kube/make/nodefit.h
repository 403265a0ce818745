/* nodefit.h - may a pod be on a node?  Selectors, required affinity, taints
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* spec: of a pod, or of its template.  stays: the pod is there already, so that only what evicts
 * counts. */
bool nodefit_fits(const json_t *spec, const json_t *node, bool stays);
