/* operator_impl.h - what the files of the operator share */
#pragma once

#include "kube/api/kubeinformer.h"
#include "kube/api/kubemap.h"
#include "kube/api/kubequeue.h"
#include "kube/operator/mkbase.h"
#include "kube/operator/operator.h"
#include "kube/operator/slurmnodes.h"

struct operator_ {
    struct kubeserver *kube;
    struct operator_options o;
    struct kubeinformer *served[OPGROUPS][OPKIND_MAX_]; /* NULL: the server has not the group */
    struct kubeinformer *owned[OPOWNED_MAX_];
    struct kubequeue *queue; /* of uids of custom resources */
    struct kubemap settled;  /* uid of an object -> text: what was applied, and what it became */
    struct kubemap ending;   /* uid of a pod that was deleted, not told yet -> int64_t until when */
    struct kubemap errors;   /* uid of a custom resource -> text: what failed last */
    struct kubemap clients;  /* uid of a Controller -> struct opclient */
};

/* The work of one custom resource, from the queue to the last answer. */
struct opwork {
    struct operator_ *op;
    struct mkbase_facts f;
    json_t *raw, *cr, *controller, *nodesets;
    enum opkind kind;
    unsigned requests;
    bool deciding, failed;
    bool ready, progressing; /* for the conditions */
    char reason[64], text[400];
    json_t *status; /* more of the status */
    int64_t wake_s;
    char uid[];
};

/* opapply.c: what leaves for the API server.  Each is counted in w->requests until it is answered. */
/* Make an object as it should be, if it is not. */
void opapply_object(struct opwork *w, json_t *object);
/* Likewise of an array, which is taken. */
void opapply_all(struct opwork *w, json_t *objects);
/* Make an object unless it is there. */
void opapply_create(struct opwork *w, const json_t *object);
void opapply_patch(struct opwork *w, const struct kubekind *kind, const json_t *object,
                   const char *sub, enum kubeapi_patch type, const json_t *body);
/* born false: only if the pod is still in the version that was seen, so that it has not begun. */
void opapply_delete_pod(struct opwork *w, const json_t *pod, bool born);
/* The object with this uid alone. */
void opapply_delete(struct opwork *w, const struct kubekind *kind, const json_t *object);
/* The status, if it is another one. */
void opapply_status(struct opwork *w);
/* One request was answered, or the work has no more to start. */
void opapply_end_request(struct opwork *w);
void opapply_fail(struct opwork *w, const char *text);
/* Are all values of a in b?  Pure. */
bool opapply_is_within(const json_t *a, const json_t *b);

/* opclient.c: a cluster's slurmrestd. */
struct opclient;
/* The client of a Controller; NULL: there is no RestApi, or no key yet. */
struct slurmnodes *opclient_get(struct operator_ *op, const struct mkbase_facts *f);
/* The Controller is gone. */
void opclient_forget(struct operator_ *op, const char *uid);
void opclient_stop(struct operator_ *op);
/* A key of a Secret, decoded; -ENOENT.  The caller frees, and wipes. */
int opclient_read_secret(const struct mkbase_facts *f, const struct mkbase_ref *ref, char **ret,
                         size_t *ret_len);

/* opreconcile.c, opnodeset.c: one kind each. */
void opreconcile_controller(struct opwork *w);
void opreconcile_accounting(struct opwork *w);
void opreconcile_restapi(struct opwork *w);
void opreconcile_token(struct opwork *w);
void opnodeset_reconcile(struct opwork *w);
void opwork_say(struct opwork *w, bool ready, bool progressing, const char *reason,
                const char *text);
