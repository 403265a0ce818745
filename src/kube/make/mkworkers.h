/* mkworkers.h - the objects of a NodeSet: worker pods, their claims, what workers share
 *
 * Pure. */
#pragma once

#include "kube/make/mkbase.h"

#define MKWORKERS_REVISION 16u

/* A digest of what rolls the pods when it changes; "": no memory. */
void mkworkers_revision(const json_t *nodeset, char ret[static MKWORKERS_REVISION]);
/* The ControllerRevision of that; number: counts up. */
json_t *mkworkers_history(const struct mkbase_facts *f, const char *revision, int64_t number);
/* Where names of workers are found, a search domain: SERVICE.NAMESPACE.svc.cluster.local. */
#define MKWORKERS_DOMAIN 640u
void mkworkers_domain(const struct mkbase_facts *f, char ret[static MKWORKERS_DOMAIN]);
/* "HOST:PORT" of slurmctld, for --conf-server. */
void mkworkers_server(const struct mkbase_facts *f, char ret[static MKWORKERS_DOMAIN]);
/* The name of the pod with an ordinal, or on a node. */
void mkworkers_name(const json_t *nodeset, int64_t ordinal, char *buf, size_t size);
void mkworkers_node_name(const json_t *nodeset, const char *node, char *buf, size_t size);
/* The hostname of the pod on a node, which is its name in Slurm. */
#define MKWORKERS_HOST 64u
void mkworkers_node_host(const json_t *node, char ret[static MKWORKERS_HOST]);
/* The pod may be on this node alone: so each of its terms says, too.  Errors: -ENOMEM. */
int mkworkers_pin(json_t *spec, const char *node);
/* The ordinal of a pod's name; -1: the name is none of the NodeSet's. */
int64_t mkworkers_ordinal(const json_t *nodeset, const char *name);
/* The pod with an ordinal; node not NULL: the pod of a node instead. */
json_t *mkworkers_pod(const struct mkbase_facts *f, int64_t ordinal, const json_t *node);
/* The claims of a pod: an array. */
json_t *mkworkers_claims(const struct mkbase_facts *f, const json_t *pod);
/* The Service and the disruption budget that all workers of a Controller share, owned by it; with
 * ssh the NodeSet's own ConfigMap for sshd. */
int mkworkers_shared(const struct mkbase_facts *f, json_t **ret);
/* Whole CPUs of a worker's limit; 0: it has none. */
int64_t mkworkers_cpus(const json_t *nodeset);
/* What the pod's node is called in Slurm.  Borrowed from pod. */
const char *mkworkers_slurm_name(const json_t *pod);
