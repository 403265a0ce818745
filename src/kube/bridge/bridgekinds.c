/* bridgekinds.c - see bridgekinds.h */
#include "kube/bridge/bridgekinds.h"

#include "kube/bridge/bridge_impl.h"

const struct kubekind bridge_groups = { "scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_native = { "scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup",
                                        true };
const struct kubekind bridge_workloads = { "scheduling.k8s.io", "v1alpha2", "workloads", "Workload",
                                           true };
const struct kubekind bridge_jobsets = { "jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true };
const struct kubekind bridge_claims = { "", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
                                        true };
const struct kubekind bridge_volumes = { "", "v1", "persistentvolumes", "PersistentVolume", false };
const struct kubekind bridge_device_claims = { "resource.k8s.io", "v1", "resourceclaims",
                                               "ResourceClaim", true };
const struct kubekind bridge_slices = { "resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                        false };
const struct kubekind bridge_device_classes = { "resource.k8s.io", "v1", "deviceclasses",
                                                "DeviceClass", false };
const struct kubekind bridge_classes = { "storage.k8s.io", "v1", "storageclasses", "StorageClass",
                                         false };

int bridgekinds_follow(struct bridge *b, const struct kubekind *kind, const char *selector,
                       kubeinformer_fn *fn, struct kubeinformer **ret)
{
    const struct kubeinformer_options o = {
        .kind = kind, .selector = selector, .fn = fn, .synced = b->synced, .back = b->back, .ctx = b
    };

    return kubeinformer_new(b->kube, &o, ret);
}
