/* devclaim.h - the ResourceClaim that names the devices of a pod, once its job has its nodes
 *
 * Slurm says which cores and GPUs the job holds on the node; the node's slices say what they are
 * called in Kubernetes.  The claim's name is made of the pod's uid, so that making it twice is
 * refused.  Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"

#define DEVCLAIM_NOTE "resource.kubernetes.io/extended-resource-claim"

struct devclaim_view {
    const json_t *pod;
    const json_t *asks;   /* devask_read() */
    const json_t *slices; /* of the node; NULL: none */
    const json_t *layout; /* of the node: core_bitmap, gres; NULL: not known */
    const char *node;     /* of Kubernetes */
};

struct devclaim {
    json_t *claim;    /* as it is created */
    json_t *status;   /* {status: {allocation, reservedFor}} */
    json_t *mappings; /* of the pod: {status: {extendedResourceClaimStatus}} */
};

/* Errors: -EINVAL the job or the node has no such devices (err says which), -ENOMEM. */
int devclaim_make(const struct devclaim_view *v, struct devclaim *ret, struct err *err);
void devclaim_done(struct devclaim *c);

enum devclaim_act {
    DEVCLAIM_READY,
    DEVCLAIM_CREATE,
    DEVCLAIM_ALLOCATE, /* write the status */
    DEVCLAIM_TELL,     /* write the mappings into the pod */
    DEVCLAIM_DELETE,   /* it names other devices: of an earlier job */
    DEVCLAIM_WAIT,     /* it is being deleted */
    DEVCLAIM_FOREIGN,  /* the name is somebody else's */
};
/* have: the claim of that name; NULL: there is none. */
enum devclaim_act devclaim_decide(const struct devclaim *want, const json_t *have,
                                  const json_t *pod);
/* Was the claim made for the pod, by whoever places pods with extended resources? */
bool devclaim_is_of(const json_t *claim, const json_t *pod);

#define DEVCLAIM_NAME 280u
void devclaim_write_name(const json_t *pod, char ret[static DEVCLAIM_NAME]);

/* Add to an array the first devices of the class that the job holds on the node, at least so many;
 * of CPUs whole cores.  Errors: as devclaim_make(). */
int devclaim_pick(const struct devclaim_view *v, const char *class, int64_t count, json_t *out,
                  struct err *err);
/* Add devices to the results of an allocation.  -ENOMEM. */
int devclaim_add_results(json_t *results, const char *name, const char *class,
                         const json_t *devices);
/* Add configurations to those of an allocation, where those of a class stand first.  request: for
 * it alone; NULL: as each says.  -ENOMEM. */
int devclaim_add_configs(json_t *configs, const json_t *list, const char *source,
                         const char *request);

/* {nodeSelector, reservedFor...}: what every allocation of a pod on a node has. */
json_t *devclaim_node(const char *node);
json_t *devclaim_consumer(const json_t *pod);
