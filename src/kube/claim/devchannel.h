/* devchannel.h - claims of pods for a channel of their ComputeDomain
 *
 * A ComputeDomain of NVIDIA's driver has a ResourceClaimTemplate; Kubernetes makes a claim of it
 * for each pod that names it.  The claim wants the node's default channel, and nothing that Slurm
 * counts, so that it is given once the pod's node is known.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#define DEVCHANNEL_DRIVER "compute-domain.nvidia.com"
#define DEVCHANNEL_CLASS "compute-domain-default-channel.nvidia.com"

/* Does the pod name claims at all? */
bool devchannel_has_claims(const json_t *pod);
/* The name of the claim that was made for an item of spec.resourceClaims; "": none yet. */
const char *devchannel_claim(const json_t *pod, const json_t *item);
/* Does every request of the claim want one channel of the default class? */
bool devchannel_wants(const json_t *claim);
/* The node's default channel: {pool, device}; NULL: it has none.  The caller's. */
json_t *devchannel_of(const json_t *slices);
/* What is written into the claim: {metadata, status}.  class_: the DeviceClass; NULL: no
 * configuration of it.  NULL: no memory. */
json_t *devchannel_status(const json_t *claim, const json_t *class_, const json_t *channel,
                          const json_t *pod, const char *node);
/* Does the allocation of a claim hold the channel? */
bool devchannel_holds(const json_t *claim, const json_t *channel);
/* Is the claim given to the pod, on the node? */
bool devchannel_is_given(const json_t *claim, const json_t *pod, const char *node);
