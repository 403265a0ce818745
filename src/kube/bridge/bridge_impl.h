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
#include "kube/external/bridgenodes.h"
#include "kube/bridge/exclusion.h"
#include "kube/bridge/podgang.h"
#include "kube/bridge/slurmlink.h"

/* What a job that has its nodes waits for. */
enum bridgewait {
    BRIDGEWAIT_NEAR, /* what other pods there are */
    BRIDGEWAIT_VOLUMES,
    BRIDGEWAIT_LEAVING, /* pods that end on its nodes */
    BRIDGEWAIT_DEVICES,
    BRIDGEWAIT_BINDING,
    BRIDGEWAIT_MAX_,
};

struct gang {
    struct bridge *b;
    json_t *uids;         /* of its pods: the members of an object */
    bool unplanned;       /* slurmctld refused a job for the planned node */
    bool no_node;         /* no node fits: it is woken when nodes change */
    json_t *bad_nodes;    /* of Slurm, which Kubernetes does not know: an array of names */
    uint32_t job_id;      /* 0: none */
    unsigned requests;    /* of the action under way */
    bool deciding;        /* the action starts its requests: it cannot end yet */
    bool failed;          /* one of them */
    bool refused_it;      /* ... by an answer: it is no server that does not do its work */
    bool in_part;         /* some of its pods are bound, and others are not yet */
    unsigned owner_waits; /* how often the job's options were waited for */
    char *told;           /* the last sentence on its pods */
    char *excluded;       /* as slurmctld was told last; NULL: not by us */
    json_t *asked_claims; /* uid of a claim that waits -> the node that it was given */
    char *refused;        /* what the API server has against a binding; NULL: nothing */
    struct {
        uint32_t job;
        int64_t since_us; /* 0: it does not wait */
    } waits[BRIDGEWAIT_MAX_];
    json_t *layout;       /* what the job holds: node of Slurm -> resources/JOB; NULL: not known */
    uint32_t layout_job;  /* whose layout */
    uint32_t done_job;    /* that was done with last; 0: none */
    uint32_t placed_job;  /* of which the PodGroup was told that it is placed; 0: of none */
    uint32_t sent_job;    /* for which pods were bound last; 0: for none */
    int64_t sent_mono_us; /* when */
    int64_t ask_mono_us;  /* the job's reason is not asked for before */
    char key[];
};

struct bridge {
    struct kubeserver *kube;
    struct bridge_options o;
    struct kubeinformer *pods, *nodes, *jobs;
    struct kubeinformer *groups, *native, *jobsets; /* NULL: the API server does not know them */
    struct kubeinformer *workloads;                 /* likewise */
    struct kubeinformer *claims, *volumes, *classes;
    struct kubeinformer *device_claims, *slices, *device_classes; /* NULL: not served */
    struct kubemap statics;      /* hostname ("": any) -> json_t: volumes that wait for a claim */
    struct kubemap set_aside;    /* "NAMESPACE/CLAIM" -> json_t: volumes that name it */
    bool statics_known;          /* both are made */
    json_t *taken;               /* a volume that is being given -> the uid of its claim */
    struct kubemap node_slices;  /* node -> json_t: its ResourceSlices by their uids */
    struct kubemap claim_gangs;  /* "NAMESPACE/CLAIM" -> json_t: gangs, and their pods with it */
    struct kubeinformer *others; /* pods of other schedulers; NULL: nobody has asked for them */
    struct kubemap given;        /* uid of a pod that is being bound -> char *: its node */
    struct kubemap planned;      /* uid of a pod that waits -> bridgenear's plan for it */
    json_t *near_gangs;          /* gangs that say something of other pods: members of an object */
    json_t *repellers;           /* uids of pods there that keep others away, likewise */
    struct kubetimer near;       /* pods have changed: near_gangs may want other nodes */
    struct kubemap there; /* node -> json_t: pods that are bound there, true: they go; gangs that
                           * wait for it */
    void (*synced)(void *ctx); /* an informer is whole */
    void (*back)(void *ctx);   /* its server answers again */
    struct slurmlink *slurm;
    struct bridgenodes *externals;
    struct kubeevents *events;
    struct kubequeue *queue;
    struct kubemap gangs;
    struct kubemap node_names; /* of Slurm to those of Kubernetes, where they differ */
    struct exclusion exclusion;
    struct kubetimer settled; /* nodes have changed: jobs that wait may want others */
    struct kubetimer silence; /* does slurmrestd say nothing for long? */
    char selector[160], others_selector[160];
};
