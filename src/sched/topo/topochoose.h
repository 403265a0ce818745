/* topochoose.h - which of the candidates a job gets, so that its nodes are near to each other
 *
 * Pure: a question about sets of nodes, answered by the rules of the topology's kind.  Nothing here
 * knows jobs or times.  The answer to a question is always the same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/topo/topowhy.h"

struct topo;

#define TOPO_CAPS_MAX 5u /* quantities that the nodes of a job hold together */

struct topo_ask {
    const struct topo *topo;
    /* Candidates, a bit for each node id; the callee takes bits away. */
    uint64_t *cand;
    uint32_t nwords;
    /* Nodes that the job must have, all among the candidates, ascending; one segment only. */
    const uint32_t *req;
    uint32_t nreq;
    uint32_t min, max; /* nodes */
    uint32_t want;     /* as many as that where the kind heeds it (tree), min <= want <= max */
    uint32_t segment;  /* nodes of a segment; 0 or min and more = one segment */
    bool spread, consolidate;
    uint32_t switches; /* leaf switches at most, 0 = any number */
    bool fixed_want;   /* do not try fewer nodes than wanted to touch fewer switches */
    uint32_t keep;     /* block: nodes of the segments to keep room for, 0 = none; topokeep.h */
    /* What the nodes hold together must reach need[], of ncaps quantities.  A node holds
     * caps[id * ncaps + i], or with caps NULL each[i]. */
    uint32_t ncaps;
    uint64_t need[TOPO_CAPS_MAX];
    uint32_t each[TOPO_CAPS_MAX];
    const uint32_t *caps;
    const uint32_t *weight; /* by node id, lower ones first; NULL = all alike */
};

/* Scratch memory and answer; zero at first, and used for any number of questions. */
struct topo_space {
    uint32_t *chosen, nchosen, cap_chosen; /* in the order of choice */
    void *mem, *kept;
    size_t size, size_kept;
    enum topo_why why; /* when there was no place; TOPO_WHY_NONE: too few nodes, or switches */
};
void topo_space_done(struct topo_space *sp);

/* 1 with sp->chosen, 0 with sp->why, -ENOMEM. */
int topo_choose(struct topo_ask *ask, struct topo_space *sp);
