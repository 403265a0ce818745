/* operator_impl.h - what the files of the operator share */
#pragma once

#include "kube/api/kubeevent.h"
#include "kube/api/kubeinformer.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubequeue.h"
#include "kube/make/mkbase.h"
#include "kube/operator/operator.h"
#include "kube/operator/opkeymaker.h"
#include "kube/operator/slurmnodes.h"

struct operator_ {
    struct kubeserver *kube;
    struct operator_options o;
    struct kubeinformer *served[OPGROUPS][OPKIND_MAX_]; /* NULL: the server has not the group */
    struct kubeinformer *owned[OPOWNED_MAX_];
    struct oprequest *requests;
    struct opkeymaker *keymaker;
    struct kubeevents *events;
    struct kubequeue *queue; /* of uids of custom resources */
    struct kubemap settled;  /* uid of an object -> text: what was applied, and what it became */
    struct kubemap ending;   /* uid of a pod that was deleted, not told yet -> int64_t until when */
    struct kubemap errors;   /* uid of a custom resource -> text: what failed last */
    struct kubeinformer *controllers; /* pods of slurmctld */
    struct kubemap leaders;           /* uid of a Controller -> struct opleader */
    struct kubemap clients;           /* uid of a Controller -> struct opclient */
    struct kubemap reaches;           /* uid of what is external -> struct opreach */
};

/* A request under way, of the work that waits for its answer. */
struct oprequest {
    struct oprequest *next, **link;
    struct opwork *w;
    char *hash;       /* of an object that is applied; NULL */
    char *uid;        /* of a pod that is deleted; NULL */
    json_t *act;      /* of nsdecide(); NULL */
    json_t *object;   /* that is applied if there is none; NULL */
    const char *verb; /* "Create" or "Delete" of what events tell; NULL */
    char what[300];   /* "Pod w-0" */
};

/* opreach.h */
enum opreach_answer {
    OPREACH_NONE, /* the daemon is ours */
    OPREACH_UNASKED,
    OPREACH_ANSWERS,
    OPREACH_SILENT,
    OPREACH_UNREADY,
    OPREACH_MUTE, /* somebody takes connections, and speaks no HTTP */
};

/* The work of one custom resource, from the queue to the last answer. */
struct opwork {
    struct operator_ *op;
    struct mkbase_facts f;
    json_t *raw, *cr, *controller, *nodesets;
    enum opkind kind;
    unsigned requests;
    bool deciding, failed;
    bool denied;             /* ... by an answer: it is no server that does not do its work */
    bool refused;            /* a field was changed that may not change */
    bool ready, progressing; /* for the conditions */
    char reason[64], text[400];
    json_t *status; /* more of the status */
    enum { OPRESERVATION_UNKNOWN, OPRESERVATION_THERE, OPRESERVATION_NONE } reservation;
    enum opreach_answer reach;
    char reach_reason[32], reach_text[400];
    int64_t wake_s;
    char uid[];
};

/* The word of Deployments for what does not go on. */
#define OPWORK_OVERDUE "ProgressDeadlineExceeded"
#define OPWORK_UNKNOWN "SlurmUnknown" /* told anew when it is so for another reason */

/* What the conditions say. */
void opwork_say(struct opwork *w, bool ready, bool progressing, const char *reason,
                const char *text);
