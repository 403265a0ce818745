/* bridgekinds.h - kinds that an API server may know or not */
#pragma once

#include "kube/api/kubeapi.h"
#include "kube/api/kubeinformer.h"

struct bridge;

/* PodGroups of scheduling.x-k8s.io, those of scheduling.k8s.io and their Workloads, JobSets. */
extern const struct kubekind bridge_groups, bridge_native, bridge_workloads, bridge_jobsets;
/* Those of resource.k8s.io, which are served together. */
extern const struct kubekind bridge_device_claims, bridge_slices, bridge_device_classes;
/* Claims, volumes and classes, which every API server knows. */
extern const struct kubekind bridge_claims, bridge_volumes, bridge_classes;

/* Follow the objects of a kind (selector: a part of the address, or NULL) for the bridge, which
 * looks at everything once they are all known.  As kubeinformer_new(). */
int bridgekinds_follow(struct bridge *b, const struct kubekind *kind, const char *selector,
                       kubeinformer_fn *fn, struct kubeinformer **ret);
