/* devfill.h - claims that Kubernetes makes of a template for a pod: what may be in them, GPUs, CPUs
 *
 * A claim for a channel is devchannel's.  One for GPUs or CPUs is filled with devices that the job
 * holds on the node, behind those that the pod's containers ask for as resources.  What would
 * choose among devices (selectors, constraints, alternatives, shares) is refused: Slurm does.
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "kube/claim/devclaim.h"
#include "kube/claim/podvolume.h"

/* The claim, or the class ("", NAME); NULL: there is none. */
typedef const json_t *devfill_find_fn(void *ctx, const char *namespace_, const char *name);

/* What a pod's claims are: none or all given (READY), to be given devices (LATE), not made yet
 * (WAIT), or such that cannot be given (NEVER).  why: a sentence of the last two. */
enum podvolume_state devfill_judge(const json_t *pod, devfill_find_fn *find, void *ctx,
                                   struct strbuf *why);
/* devask_read(), and what the pod's claims ask for that are made already. */
int devfill_read(const json_t *pod, devfill_find_fn *find, void *ctx, json_t **ret,
                 struct err *err);

/* How many devices of each class the containers' own resources take: an object of counts.  Errors:
 * as devclaim_make(). */
int devfill_begin(const struct devclaim_view *v, json_t **ret_taken, struct err *err);
/* What is to be written into a claim: {metadata, status}.  What it takes is added to `taken`.
 * Errors: likewise. */
int devfill_status(const struct devclaim_view *v, const json_t *claim, devfill_find_fn *class_of,
                   void *ctx, json_t *taken, json_t **ret, struct err *err);
/* Has the claim what is to be written? */
bool devfill_is_given(const json_t *claim, const json_t *want);
