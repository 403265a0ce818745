/* noderes.h - the devices of a node as the scheduler takes them
 *
 * How many there are says the configuration, which of them are where the node's registration.
 * Pure; out of memory ends the program, as with all that is fed. */
#pragma once

#include "base/cleanup.h"
#include "model/cluster.h"
#include "sched/sched.h"

struct noderes {
    struct sched_gres_spec *rows;
    size_t n;
    uint64_t *gpu_bits; /* CPUs for jobs with GPUs alone, or NULL */
    void **owned;
    size_t nowned;
};

struct noderes *noderes_new(const Pst__NodeRecord *r);
struct noderes *noderes_free(struct noderes *res);
DEFINE_CLEANUP(struct noderes *, noderes_free)

/* Of an allocation's shares of GPUs on the node: the GPUs "0,2", and what is held of each
 * "3/4,0/4".  False when these are no shares.  The caller owns both texts. */
bool noderes_shares(const struct noderes *res, const struct sched_alloc_gres *g, char **ret_gpus,
                    char **ret_counts);
