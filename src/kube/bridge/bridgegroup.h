/* bridgegroup.h - what pods belong to: groups, and controllers whose annotations are options */
#pragma once

#include "kube/bridge/bridge_impl.h"

/* Does the pod name a group of scheduling.k8s.io, or one by its label, whether or not the group is
 * there? */
bool bridgegroup_is_native(const struct bridge *b, const json_t *pod);
bool bridgegroup_is_labelled(const struct bridge *b, const json_t *pod);
/* Pods that the gang needs before it has a job. */
int64_t bridgegroup_least(const struct bridge *b, const json_t *pods);
/* The object whose annotations are the job's options.  A PodGroup of scheduling.k8s.io has those of
 * the pod's controller too, and those of its Workload, which come last.  *missing is set when one
 * was not told yet.  The caller's reference; NULL: no memory. */
json_t *bridgegroup_root(const struct bridge *b, const json_t *pod, bool *missing);
/* For how many seconds the Job that owns the pod may run; 0: no Job says it. */
int64_t bridgegroup_deadline_s(const struct bridge *b, const json_t *pod);
/* The gang is on its nodes: tell the PodGroup of scheduling.k8s.io that it has, once a job. */
void bridgegroup_tell_placed(struct gang *g, const json_t *pods, const struct slurmjob *job);
