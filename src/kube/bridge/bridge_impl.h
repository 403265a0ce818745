/* bridge_impl.h - what the files of the bridge share
 *
 * An action of a gang is one item of the queue.  It ends when every request that it started was
 * answered, so that no two actions of a gang overlap. */
#pragma once

#include "kube/api/kubeapi.h"
#include "kube/api/kubeevent.h"
#include "kube/api/kubeinformer.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubequeue.h"
#include "kube/bridge/bridge.h"
#include "kube/bridge/exclusion.h"
#include "kube/bridge/podgang.h"
#include "kube/bridge/slurmlink.h"

struct gang {
    struct bridge *b;
    json_t *uids;         /* of its pods: the members of an object */
    json_t *bad_nodes;    /* of Slurm, which Kubernetes does not know: an array of names */
    uint32_t job_id;      /* 0: none */
    unsigned requests;    /* of the action under way */
    bool deciding;        /* the action starts its requests: it cannot end yet */
    bool failed;          /* one of them */
    unsigned owner_waits; /* how often the job's options were waited for */
    char *told;           /* the last sentence on its pods */
    char *excluded;       /* as slurmctld was told last; NULL: not by us */
    int64_t ask_mono_us;  /* the job's reason is not asked for before */
    char key[];
};

struct bridge {
    struct kubeserver *kube;
    struct bridge_options o;
    struct kubeinformer *pods, *nodes, *jobs;
    struct kubeinformer *groups, *native, *jobsets; /* NULL: the API server does not know them */
    struct slurmlink *slurm;
    struct kubeevents *events;
    struct kubequeue *queue;
    struct kubemap gangs;
    struct kubemap node_names; /* of Slurm to those of Kubernetes, where they differ */
    struct exclusion exclusion;
    struct kubetimer settled; /* nodes have changed: jobs that wait may want others */
    char selector[160];
};

/* bridge.c: is everything known that decisions are made of? */
bool bridge_is_ready(const struct bridge *b);
/* Look at the gang after a pause; 0: at once. */
void bridge_wake(struct bridge *b, const char *key, int64_t after_us);
/* The node of Kubernetes that Slurm calls so; NULL: there is none.  Borrowed. */
const char *bridge_node(const struct bridge *b, const char *name);
void bridge_free_gang(void *gang);

/* bridgegroup.c: does the pod name a group of scheduling.k8s.io, or one by its label, whether or not
 * the group is there? */
bool bridgegroup_is_native(const struct bridge *b, const json_t *pod);
bool bridgegroup_is_labelled(const struct bridge *b, const json_t *pod);
/* Pods that the gang needs before it has a job. */
int64_t bridgegroup_least(const struct bridge *b, const json_t *pods);
/* The object whose annotations are the job's options.  *missing is set when a controller of the pod
 * was not told yet. */
const json_t *bridgegroup_root(const struct bridge *b, const json_t *pod, bool *missing);

/* bridgeact.c: the requests of an action.  r: what the start of one gave. */
void bridgeact_count(struct gang *g, int r);
kubecall_fn bridgeact_take; /* the answer of one; ctx is the gang */
void bridgeact_end(struct gang *g);
/* Change this very pod; patch is taken. */
void bridgeact_patch(struct gang *g, const json_t *pod, const char *sub, json_t *patch);
/* Say once why the pods wait: a condition and an event on each. */
void bridgeact_tell(struct gang *g, const json_t *pods, const char *reason, const char *text);

/* bridgeplace.c: what is done with pods that have a job. */
void bridgeplace_mark(struct gang *g, const json_t *pods, const struct slurmjob *job);
void bridgeplace_release(struct gang *g, const struct podgang_view *v);
void bridgeplace_give_up(struct gang *g, const struct podgang_view *v, const char *why);
void bridgeplace_delete(struct gang *g, const struct podgang_view *v);
void bridgeplace_bind(struct gang *g, const struct podgang_view *v);

/* bridgesubmit.c: a job for the pods that wait; other nodes for a job that waits. */
void bridgesubmit_job(struct gang *g, const struct podgang_view *v);
void bridgesubmit_exclude(struct gang *g, const struct podgang_view *v);

kubequeue_fn bridgework_do; /* bridgework.c: the next action of a gang; ctx is the bridge */
