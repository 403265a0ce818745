/* opapply.h - what the operator sends to the API server
 *
 * Each request is counted in its work until it is answered.  What fails is tried again by the
 * queue.  One thread: the loop's. */
#pragma once

#include "kube/operator/operator_impl.h"

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
/* spec.replicas of the custom resource, by its scale subresource. */
void opapply_scale(struct opwork *w, int64_t replicas);
/* The status, if it is another one. */
void opapply_status(struct opwork *w);
/* Whether there is a reservation was answered after opapply_status(): write it where it changed. */
void opapply_reservation(struct opwork *w);
/* Count a request; NULL: no memory.  hash and uid are copied. */
struct oprequest *opapply_begin(struct opwork *w, const char *hash, const char *uid);
/* It was answered, or could not be started. */
void opapply_end(struct oprequest *q);
/* The work starts no more requests: it ends with the last answer. */
void opapply_finish(struct opwork *w);
/* Drop all requests, and their works: their servers are gone. */
void opapply_drop(struct operator_ *op);
void opapply_fail(struct opwork *w, const char *text);
