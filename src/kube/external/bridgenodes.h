/* bridgenodes.h - external nodes: made in slurmctld, and removed, as nodes of Kubernetes say
 *
 * A node that changes is looked at alone; all are looked at when both sides are there, and each
 * BRIDGENODES_AGAIN_US.  A node is removed only when Kubernetes has answered that it is not wanted,
 * slurmrestd has answered that the bridge made it, and it is drained and without jobs.
 * One thread: the loop's. */
#pragma once

#include "kube/api/kubecall.h"
#include "kube/api/kubeevent.h"
#include "kube/api/kubeinformer.h"
#include "kube/api/kubemap.h"

#define BRIDGENODES_AGAIN_US (INT64_C(60) * 1000000)

struct bridgenodes;

struct bridgenodes_facts {
    const char *name; /* of the bridge, "" without one */
    struct kubeinformer *const *nodes;
    struct kubeinformer *const *slices; /* of their devices; NULL: the server has none */
    const struct kubemap *names;        /* of Slurm to those of Kubernetes, where they differ */
    const struct kubemap *node_slices;  /* of Kubernetes to json_t: ResourceSlices */
    struct kubeserver *kube;
    const char *scheduler; /* whose taint nodes of both worlds have; NULL: none is set */
    struct kubeevents *events;
    void (*drained)(void *ctx); /* bridgenodes_drains() is another one */
    void *ctx;
};
/* All facts stay the caller's; slurm and kube are freed before bridgenodes_free().  -ENOMEM. */
int bridgenodes_new(struct kubeserver *slurm, const struct bridgenodes_facts *f,
                    struct bridgenodes **ret);
struct bridgenodes *bridgenodes_free(struct bridgenodes *l); /* always NULL */
/* A node of Kubernetes has changed, and `names` says so already.  Either may be NULL. */
void bridgenodes_see(struct bridgenodes *l, const json_t *before, const json_t *now);
/* The devices of a node of Kubernetes have changed. */
void bridgenodes_look(struct bridgenodes *l, const json_t *node);
/* Something of the node has changed in Slurm. */
void bridgenodes_hear(struct bridgenodes *l, const char *name);
/* Does slurmctld have the node?  True also while that is not known. */
bool bridgenodes_may_have(const struct bridgenodes *l, const char *name);
/* Nodes of both worlds that are drained in Slurm, as bridgedrain.h has them.  Borrowed. */
const json_t *bridgenodes_drains(const struct bridgenodes *l);
/* Kubernetes' nodes are all known: look at them. */
void bridgenodes_begin(struct bridgenodes *l);
