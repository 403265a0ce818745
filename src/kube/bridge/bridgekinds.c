/* bridgekinds.c - see bridgekinds.h */
#include "kube/bridge/bridgekinds.h"

const struct kubekind bridge_groups = { "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_native = { "scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_jobsets = { "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true };
