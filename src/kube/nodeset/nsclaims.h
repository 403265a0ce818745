/* nsclaims.h - claims of workers: who owns them decides when they go
 *
 * whenDeleted Delete: the NodeSet owns them.  whenScaled Delete: the pod that goes for ever owns
 * its claims, so that they go with it.  Else nobody does.  Pure. */
#pragma once

#include "kube/nodeset/nspod.h"

/* The name of a claim of a pod. */
#define NSCLAIMS_NAME 600u
void nsclaims_name(const json_t *template_, const json_t *pod, char ret[static NSCLAIMS_NAME]);

enum nsclaims_state { NSCLAIMS_GOOD, NSCLAIMS_MISSING, NSCLAIMS_CHANGE, NSCLAIMS_FOREIGN };

/* Is the claim as it should be?  leaves: the pod is scaled in.  NSCLAIMS_CHANGE: *ret_patch is a
 * merge patch of it (NULL: no memory).  NSCLAIMS_FOREIGN: it has another controller, and would be
 * changed otherwise. */
enum nsclaims_state nsclaims_judge(const struct nsview *v, const json_t *template_,
                                   const json_t *pod, bool leaves, json_t **ret_patch);
