/* bridgedevice.h - devices of pods (DRA): what nodes have, claims made and given, channels
 *
 * A pod of a job that runs is bound when its claims name the devices that the job holds.  The
 * claim, its status and the pod's own word of it are three requests; which one is next is read from
 * what is there (devclaim_decide()), so that a bridge that is killed between them goes on. */
#pragma once

#include "kube/bridge/bridge_impl.h"
#include "kube/bridge/bridgevolume.h"

int bridgedevice_begin(struct bridge *b);
void bridgedevice_stop(struct bridge *b);
/* Add the drivers that a pod needs on its node to what podvolume_needs() gave.  -ENOMEM. */
int bridgedevice_add_needs(struct bridge *b, const json_t *pod, json_t *needs);
/* devask_read(), with what the pod's claims ask for. */
int bridgedevice_read(struct bridge *b, const json_t *pod, json_t **ret, struct err *err);
/* exclusion.meets: ctx is the bridge. */
bool bridgedevice_meets(void *ctx, const json_t *needs, const json_t *node);
/* Can a job be made for the pods that wait?  If not, they are told why. */
bool bridgedevice_is_open(struct gang *g, const json_t *pods);
/* As bridgevolume_place(), and BAD after as long. */
enum bridgevolume_answer bridgedevice_place(struct gang *g, const struct slurmjob *job,
                                            const json_t *pods, const json_t *places);
/* Delete the claims of pods that are over. */
void bridgedevice_release(struct gang *g, const json_t *pods);
