/* bridge.h - pods of one scheduler name become jobs, and jobs that start become bindings
 *
 * Pods, PodGroups, Jobs and nodes are followed on one side, jobs of slurmctld on the other; what
 * changed names a gang (podread_gang()), whose next action podgang_decide() tells.  A change costs
 * what the gang's pods cost; nothing walks all pods or jobs.
 *
 * One thread: the loop's. */
#pragma once

#include "kube/api/kubeapi.h"

struct bridge;

struct bridge_options {
    const char *name;         /* of this bridge among several of a slurmctld; NULL or "": none */
    const char *scheduler;    /* schedulerName of our pods */
    const char *partition;    /* NULL: the default one */
    const char *mcs;          /* NULL: none */
    const json_t *identities; /* namespaces whose user-id and group-id are believed; NULL: none */
    const json_t *classes;    /* bridgeconf.classes; NULL: none */
    const json_t *rules;      /* podidentity_read(); NULL: none */
    bool taint;               /* nodes that both worlds have get BRIDGE_TAINT */
    int64_t wait_us; /* a job that has its nodes waits no longer for Kubernetes; 0: ten minutes */
    bool groups, native, jobsets; /* the API server knows bridge_groups, ... */
    bool devices;                 /* ... bridge_slices */
    bool workloads;               /* ... bridge_workloads */
};

/* kube and slurm stay the caller's, and are freed before bridge_free().  The texts of o are
 * borrowed.  -ENOMEM. */
int bridge_new(struct kubeserver *kube, struct kubeserver *slurm, const struct bridge_options *o,
               struct bridge **ret);
/* Stop following; before kubeserver_free(). */
void bridge_stop(struct bridge *b);
struct bridge *bridge_free(struct bridge *b); /* always NULL */
