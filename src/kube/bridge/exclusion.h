/* exclusion.h - the nodes that a job of pods must not have
 *
 * A list is made once of what a pod says of nodes, and kept until a node changes: thousands of pods
 * of a few workloads cost a few walks over the nodes.
 *
 * One thread at a time. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "kube/api/kubeinformer.h"
#include "kube/api/kubemap.h"

struct exclusion {
    const char *scheduler;                          /* of podread_fits(); borrowed */
    json_t *(*needs)(void *ctx, const json_t *pod); /* podvolume_needs(); NULL: none */
    /* podvolume_meets(), and whatever else was added to the needs; NULL: the first alone. */
    bool (*meets)(void *ctx, const json_t *needs, const json_t *node);
    void *ctx;
    struct kubemap lists; /* what a pod says of nodes, to a list of names */
};

/* Forget all lists: a node has changed. */
void exclusion_forget(struct exclusion *e);
/* Does the change of a node (before NULL: it is new; now NULL: it is gone) change a list? */
bool exclusion_changes(const json_t *before, const json_t *now);
/* A list of the nodes, as Slurm calls them, where one of the pods may not be, and of `more`, an
 * array of names.  It is folded and sorted; "": none.  The caller's; NULL: no memory. */
char *exclusion_of(struct exclusion *e, const struct kubeinformer *nodes, const json_t *pods,
                   const json_t *more);
