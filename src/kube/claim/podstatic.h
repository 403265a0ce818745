/* podstatic.h - volumes that somebody made beforehand, for claims that wait for a node
 *
 * By kube-scheduler's rules: of the free volumes that do for a claim and can be reached from the
 * node, the smallest.  Of several claims the smallest chooses first.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Does the volume wait for a claim, whichever? */
bool podstatic_is_free(const json_t *volume);
/* Is it set aside for this very claim? */
bool podstatic_is_for(const json_t *volume, const json_t *claim);
/* Would it do for the claim: class, size, modes, labels? */
bool podstatic_fits(const json_t *volume, const json_t *claim);
/* The one of the volumes (an array) to take for a claim at a node; NULL: none.  used: members are
 * names that are taken already. */
const json_t *podstatic_pick(const json_t *volumes, const json_t *claim, const json_t *node,
                             const json_t *used);
/* The one of both to take first; either may be NULL. */
const json_t *podstatic_smaller(const json_t *a, const json_t *b);
/* The values of the label kubernetes.io/hostname that nodes have from which it can be reached, as
 * the caller's array; NULL: the volume names nodes otherwise, or there is no memory. */
json_t *podstatic_hosts(const json_t *volume);
/* Does a claim choose before another one?  NULL: there is none, or it makes no difference. */
bool podstatic_goes_first(const json_t *claim, const json_t *other);
