/* nsdecide.h - what a NodeSet needs: one pure function of what Kubernetes and Slurm say
 *
 * There is no other state: a new operator reads both sides and goes on.  What is not known about
 * Slurm leaves everything as it is: nothing is deleted, drained or undrained. */
#pragma once

#include "kube/make/mkbase.h"

struct nsview {
    const struct mkbase_facts *f;  /* cr: the NodeSet */
    const char *revision;          /* mkworkers_revision() of cr; NULL: not made yet */
    const json_t *pods;            /* an array: those that the NodeSet owns */
    const json_t *nodes;           /* of Kubernetes, name to object */
    const json_t *slurm;           /* of Slurm, name to record (slurmnodes.h); NULL: not known */
    const json_t *missed;          /* name to seconds since when Slurm has no such node */
    const json_t *deadlines;       /* name to seconds since the epoch, when its jobs must be over */
    const json_t *claims;          /* name to object: those of the namespace; NULL: none */
    const json_t *records;         /* an array: all nodes of Slurm, when some are pruned; or NULL */
    const json_t *node_conditions; /* types of conditions of nodes that are a reason; may be NULL */
    int64_t patience_s;            /* workers that wait longer are told of (nsoverdue.h) */
    int64_t now_us;
};

/* Of the reason of a node whose pod is to go. */
#define NSDECIDE_ENDS "is pending termination"

/* What to do, an array of objects; "do" says what:
 * | create     | "object": a pod
 * | patch      | "pod", "body": a merge patch
 * | conditions | "pod", "body": a strategic patch of its status
 * | node       | "name", "body": a change of a node of Slurm
 * | delete     | "pod"; "ask": only if Slurm says that "name" is drained; "why"
 * | claim      | "claim", "body": a merge patch; without a body: it is another controller's
 * | prune      | "name", "comment": a record of Slurm, if it is as it was seen
 * *ret_wake_s: when to look again at the latest, 0: at the next change.  Errors: -ENOMEM. */
int nsdecide(const struct nsview *v, json_t **ret, int64_t *ret_wake_s);

/* Pods as they are counted. */
struct nscount {
    int64_t desired, replicas, updated, ready, available;
    int64_t idle, allocated, down, drained;
};
void nsdecide_count(const struct nsview *v, struct nscount *ret);
