/* podread.h - what the bridge wants to know of a pod and of a node
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strbuf.h"

/* It has ended, or never will run: nothing of it is on a node. */
bool podread_is_over(const json_t *pod);
bool podread_is_bound(const json_t *pod);
/* It wants a node: not over, not bound, not being deleted, without gates. */
bool podread_is_waiting(const json_t *pod);

struct podread_wants {
    int64_t cpus;    /* 0: not said */
    int64_t mem_mib; /* 0: not said */
    int64_t gpus;
};
/* The larger of requests and limits, of the containers together, of init containers alone, or of
 * the pod as a whole; overhead is added.  Errors: -EINVAL a quantity is none (err says which). */
int podread_wants(const json_t *pod, struct podread_wants *ret, struct err *err);
/* Its place among its group: index labels; -1: none. */
int64_t podread_rank(const json_t *pod);

/* Which of its gang, "pod/UID", "lws/NAMESPACE/KEY", "pg/NAMESPACE/NAME" of a PodGroup of
 * scheduling.x-k8s.io, or "spg/NAMESPACE/NAME" of one of scheduling.k8s.io.  group, native: the API
 * server serves them, and the pod names one. */
void podread_gang(const json_t *pod, bool group, bool native, struct strbuf *out);
/* The PodGroup of scheduling.k8s.io that it names; "": none. */
const char *podread_native_group(const json_t *pod);

/* May the pod be on the node?  Cordons, taints, nodeSelector, required node affinity.  scheduler:
 * the value of our own taint, which every pod of ours tolerates. */
bool podread_fits(const json_t *pod, const json_t *node, const char *scheduler);
/* And why not; a node that is being deleted is taken for a cordoned one. */
enum podread_misfit { PODREAD_FITS, PODREAD_CORDONED, PODREAD_TAINTED, PODREAD_UNNAMED };
enum podread_misfit podread_misfit(const json_t *pod, const json_t *node, const char *scheduler);

/* BRIDGE_TAINT=SCHEDULER:NoExecute of nodes that both Kubernetes and Slurm have keeps pods away
 * that no job of Slurm places. */
/* Does the pod tolerate the taint of this scheduler's name? */
bool podread_tolerates_own(const json_t *pod, const char *scheduler);
/* The pod's tolerations, and that of the taint; NULL: no memory. */
json_t *podread_tolerations(const json_t *pod, const char *scheduler);
/* Is a change of the node's taints needed, so that it has the taint, or has it not?  Those of other
 * keys and values stay. */
bool podread_taint_differs(const json_t *node, const char *scheduler, bool managed);
/* The change, as a merge patch that holds for the version of the node that was seen alone; NULL: no
 * memory. */
json_t *podread_taint_change(const json_t *node, const char *scheduler, bool managed);
