/* kubematch.h - what a pod says of nodes: tolerations, nodeSelector, required node affinity
 *
 * As kube-scheduler reads them.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

/* Does one of the tolerations (an array; NULL: none) cover the taint? */
bool kubematch_tolerates(const json_t *tolerations, const json_t *taint);
/* Does a label selector (matchLabels, matchExpressions) choose the object?  An empty one chooses
 * all, none (NULL) nothing. */
bool kubematch_labels(const json_t *selector, const json_t *object);
/* Does the node meet one of the terms of a node selector?  What cannot be read is met by none. */
bool kubematch_meets(const json_t *terms, const json_t *node);
/* Can the required node affinity of a pod's spec be read?  Errors: -EINVAL, err names the word that
 * is not known. */
int kubematch_check(const json_t *spec, struct err *err);
/* Is the node one of those that the pod's spec names?  What cannot be read names none. */
bool kubematch_selects(const json_t *spec, const json_t *node);
