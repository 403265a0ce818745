/* kubeapi.h - what can be asked of an API server, a call each
 *
 * Each call starts one request, whose answer goes to `done` (kubecall.h); kubeapi_change() starts
 * several.  A name that cannot be in a path is refused with -EINVAL, so that no name of a stranger
 * can lead a request elsewhere.  Errors of all: -EINVAL, -ENOMEM; done is not called then. */
#pragma once

#include "kube/api/kubecall.h"

struct kubekind {
    const char *group; /* "": the core group */
    const char *version;
    const char *plural; /* "pods" */
    const char *kind;   /* "Pod" */
    bool namespaced;
};

extern const struct kubekind kubekind_pods, kubekind_nodes, kubekind_events, kubekind_leases,
    kubekind_jobs;

struct kubeapi_target {
    const struct kubekind *kind;
    const char *namespace_; /* NULL or "": of a kind without, or a list of all */
    const char *name;       /* NULL: the collection */
    const char *sub;        /* "status", "scale"; NULL: the object itself */
    bool unread;            /* done reads no body of an answer of 2xx (kubecall.h) */
};

enum kubeapi_patch {
    KUBEAPI_MERGE,     /* JSON merge patch */
    KUBEAPI_STRATEGIC, /* strategic merge patch: lists by key; not for custom resources */
    KUBEAPI_JSON,      /* RFC 6902, an array */
    KUBEAPI_APPLY,     /* server-side apply; needs a manager */
};

/* The path of a target, with "?query" when query is not NULL.  The caller frees. */
int kubeapi_path(const struct kubeapi_target *t, const char *query, char **ret);

int kubeapi_get(struct kubeserver *s, const struct kubeapi_target *t, kubecall_fn *done, void *ctx);
int kubeapi_create(struct kubeserver *s, const struct kubeapi_target *t, const json_t *object,
                   kubecall_fn *done, void *ctx);
/* The object has the resourceVersion that it was read with: 409 when it has changed since. */
int kubeapi_replace(struct kubeserver *s, const struct kubeapi_target *t, const json_t *object,
                    kubecall_fn *done, void *ctx);
/* manager: of KUBEAPI_APPLY; force: fields of other managers are taken over. */
int kubeapi_patch(struct kubeserver *s, const struct kubeapi_target *t, enum kubeapi_patch type,
                  const json_t *patch, const char *manager, bool force, kubecall_fn *done,
                  void *ctx);
/* Only the object with this uid (NULL: whichever) and resourceVersion (NULL: any).
 * grace_s < 0: as the object says. */
int kubeapi_delete(struct kubeserver *s, const struct kubeapi_target *t, const char *uid,
                   const char *version, int grace_s, kubecall_fn *done, void *ctx);
/* Put a pod on a node, if it is still the pod with this uid.  annotations (may be NULL) are added
 * to the pod.  done reads no body of an answer of 2xx. */
int kubeapi_bind(struct kubeserver *s, const char *namespace_, const char *pod, const char *uid,
                 const char *node, const json_t *annotations, kubecall_fn *done, void *ctx);
int kubeapi_set_scale(struct kubeserver *s, const struct kubeapi_target *t, int64_t replicas,
                      kubecall_fn *done, void *ctx);
/* The kinds that a group and version has: an APIResourceList; 404: the server has no such group. */
int kubeapi_discover(struct kubeserver *s, const char *group, const char *version,
                     kubecall_fn *done, void *ctx);
/* Does an APIResourceList name the kind? */
bool kubeapi_serves(const json_t *list, const struct kubekind *kind);

/* Read the object, let `edit` change it, write it, and begin again when somebody else changed it
 * meanwhile, up to KUBEAPI_TRIES times.  edit may be called several times; negative: nothing is
 * written, and done is told status 0. */
#define KUBEAPI_TRIES 8u
typedef int kubeapi_edit_fn(void *ctx, json_t *object);
int kubeapi_change(struct kubeserver *s, const struct kubeapi_target *t, kubeapi_edit_fn *edit,
                   kubecall_fn *done, void *ctx);
