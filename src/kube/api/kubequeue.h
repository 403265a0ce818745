/* kubequeue.h - work to be done, a row a UID, with a pause that grows while it fails
 *
 * A key stands in the queue once, however often it is added.  A key that is added while its work is
 * under way is done again afterwards, never at the same time.
 *
 * Works that fail may all fail for one reason, a server that does not do what it is asked.  With
 * `in_turns` one of them is tried every two seconds, however long its own pause is, and each that
 * succeeds has some of the others tried at once.  One thread: the loop's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/api/kubeloop.h"

struct kubequeue;

/* Begin the work of a key.  kubequeue_done() is called for it once, inside or later. */
typedef void kubequeue_fn(void *ctx, const char *key);

struct kubequeue_options {
    unsigned at_once;       /* works under way at most; 0: 16 */
    int64_t first_pause_us; /* after the first failure; doubled after each; 0: 50 ms */
    int64_t most_pause_us;  /* 0: 60 s */
    bool in_turns;          /* of works that fail one is tried every two seconds */
};

int kubequeue_new(struct kubeloop *loop, const struct kubequeue_options *o, kubequeue_fn *fn,
                  void *ctx, struct kubequeue **ret);  /* -ENOMEM */
struct kubequeue *kubequeue_free(struct kubequeue *q); /* always NULL */
/* As soon as there is a place; after: not before so long.  -ENOMEM. */
int kubequeue_add(struct kubequeue *q, const char *key);
int kubequeue_add_after(struct kubequeue *q, const char *key, int64_t after_us);
/* The work of a key is done; ok false: it is tried again after its pause. */
void kubequeue_done(struct kubequeue *q, const char *key, bool ok);
/* It is not done, and that was the answer: it is tried again after its pause, and no earlier. */
void kubequeue_refuse(struct kubequeue *q, const char *key);
/* What kept works from being done may be over: those that failed are tried at once. */
void kubequeue_hurry(struct kubequeue *q);
/* Keys that wait, are under way, or pause. */
size_t kubequeue_count(const struct kubequeue *q);
