/* nspod.h - a worker pod, as decisions see it
 *
 * Pure. */
#pragma once

#include "kube/nodeset/nsdecide.h"

struct nspod {
    const json_t *pod, *node, *slurm; /* node, slurm NULL: there is none, or it is not known */
    const char *name;                 /* in Slurm */
    bool ending;                      /* is deleted, and waits for its containers */
    bool finished;                    /* has failed or succeeded */
    bool begun;                       /* its containers may have run */
    bool ready, available, current;
    bool cordoned; /* has the annotation */
    int64_t cost, deadline_s, ordinal, ready_us;
    const char *condemned; /* why it must go; NULL: it stays */
};

void nspod_read(const struct nsview *v, const json_t *pod, struct nspod *ret);
/* By which pods are removed, the first first. */
int nspod_compare(const void *a, const void *b);
const char *nspod_reason(const struct nspod *p); /* of its node in Slurm, "" */
bool nspod_has_state(const struct nspod *p, const char *word);
bool nspod_is_busy(const struct nspod *p); /* jobs run there, or end */
/* Is the reason of its node one that this operator gave? */
bool nspod_is_ours(const struct nspod *p);
/* Are evictions of it refused, where they should be?  Only then may jobs begin in it. */
bool nspod_is_marked(const struct nsview *v, const struct nspod *p);
/* The labels and annotations that should change: a merge patch; NULL: none. */
json_t *nspod_patch(const struct nsview *v, const struct nspod *p, bool cordon);
/* The conditions that should change: a patch of the status; NULL: none. */
json_t *nspod_conditions(const struct nsview *v, const struct nspod *p);
/* Comment, features and topology of its node in Slurm that should change; NULL: none. */
json_t *nspod_record(const struct nsview *v, const struct nspod *p);
