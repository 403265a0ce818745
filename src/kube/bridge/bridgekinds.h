/* bridgekinds.h - kinds that an API server may know or not */
#pragma once

#include "kube/api/kubeapi.h"

/* PodGroups of scheduling.x-k8s.io, those of scheduling.k8s.io, JobSets. */
extern const struct kubekind bridge_groups, bridge_native, bridge_jobsets;
/* Those of resource.k8s.io, which are served together. */
extern const struct kubekind bridge_device_claims, bridge_slices, bridge_device_classes;
/* Claims, volumes and classes, which every API server knows. */
extern const struct kubekind bridge_claims, bridge_volumes, bridge_classes;
