/* opkeymaker.h - a set of sshd's host keys, made by a thread beside the loop
 *
 * Making an RSA key would hold the loop for a second.  One set is made ahead when somebody asks for
 * one; the set belongs to nobody until it is taken.  One thread, but for the maker's own: the
 * loop's. */
#pragma once

#include <jansson.h>

#include "kube/api/kubeloop.h"

struct opkeymaker;

/* made: a set is ready, or could not be made.  -ENOMEM, those of eventfd(2). */
int opkeymaker_new(struct kubeloop *loop, void (*made)(void *ctx), void *ctx,
                   struct opkeymaker **ret);
/* Ends the making.  The loop does not turn any more.  Always NULL. */
struct opkeymaker *opkeymaker_free(struct opkeymaker *m);
/* The files of a set, as a Secret's data has them; the caller's.  NULL: the making has begun, and
 * `made` is called when it ends.  Errors: -EIO (the last making failed, and is begun again),
 * -ENOMEM, -EAGAIN (no thread). */
int opkeymaker_take(struct opkeymaker *m, json_t **ret);
