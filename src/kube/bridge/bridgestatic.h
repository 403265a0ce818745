/* bridgestatic.h - volumes that somebody made beforehand: which are free, and to whom one is given
 *
 * A volume is given to a claim as kube-scheduler does it: the volume names the claim, and
 * Kubernetes binds both. */
#pragma once

#include "kube/bridge/bridge_impl.h"
#include "kube/claim/podvolume.h"

void bridgestatic_begin(struct bridge *b);
void bridgestatic_stop(struct bridge *b);
/* A volume has changed; true: one that is free has come or gone. */
bool bridgestatic_see(struct bridge *b, const json_t *before, const json_t *now);
/* podvolume_facts.statics: ctx is the bridge. */
enum podvolume_static bridgestatic_find(void *ctx, const json_t *claim);
/* Has the node a volume for each claim that needs one of these? */
bool bridgestatic_meets(struct bridge *b, const json_t *needs, const json_t *node);
/* The volume for the claim at the node; NULL: there is none.  used: names that are taken. */
const json_t *bridgestatic_pick(struct bridge *b, const json_t *claim, const json_t *node,
                                const json_t *used);
/* Give the volume to the claim. */
void bridgestatic_give(struct gang *g, const json_t *volume, const json_t *claim);
