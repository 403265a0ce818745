/* prof_data.h - the layout of a profile: what every node has free from now on, in slots of time
 *
 * Slot 0 begins now, the others at round multiples of the grain; slots far away are longer.  A span
 * of slots [from, until) is what a job would hold; until == prof_slots() means: to the end of all
 * planning.  Whatever ends inside a slot is held for all of it, so that nothing planned is ever too
 * early.  A step is what a node holds between two changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/state/fits.h"

#define PROF_BLOCK 16u
#define PROF_SLOTS_MAX 480u
#define PROF_LOST_MAX 64u
#define FINE_SLOTS 256u
#define COARSE_SLOTS 160u
#define BEYOND_SLOTS 48u

/* A node over a span: the most that is held at any instant of it.  Valid until the next prof_
 * call. */
struct prof_view {
    uint64_t *busy, *firm; /* CPUs that are held; that one job holds alone */
    uint64_t mem;
    uint64_t *used;      /* by row of GRES */
    uint64_t *dev;       /* of every row with devices, one after the other */
    uint32_t *part_cpus; /* as node.parts */
    uint32_t free_cpus, free_cores, uid, label;
    bool held, any, mixed, owned,
        labels_mixed; /* CPUs held; any job; of several users; one that shares with its user
                       * alone; of several labels, or of one and of none */
};

struct step {
    uint32_t from, uid, label, keeper;
    bool held, any, mixed, owned, labels_mixed;
    int64_t starts_us; /* what a job planned to begin with the step was promised, 0 = none is */
    uint64_t mem;
    uint64_t w[]; /* see step_layout() */
};

struct pnode {
    char *mem; /* of steps, stride bytes each */
    uint32_t n, cap, stride;
    uint32_t *ids, nids, cap_ids; /* jobs that hold it; some are gone */
};

struct recall {
    uint32_t search, from_end, until_begin,
        until_end; /* stands for from < from_end and until between these */
    bool fits;
    struct fit fit;
};

/* Nodes of one word of the bitmaps that lose the same levels in the same slots. */
struct lost {
    uint32_t from, until, level, before; /* levels from `level` on, below before */
    bool idle;                           /* and the one of idle nodes */
    uint64_t nodes;
};

struct prof {
    int64_t *times;       /* when each slot begins */
    int64_t *ends;        /* the latest end that is rounded up to it, 0 = none */
    uint32_t nslots, now; /* now: the slot that is */
    bool *release;        /* something comes free at its beginning */
    struct pnode *nodes;
    uint32_t nnodes;
    uint32_t nlevels, nwords, most_cpus;
    uint64_t *bits;                     /* by slot, level, word */
    uint64_t *blocks;                   /* likewise, of PROF_BLOCK slots together */
    uint32_t *counts;                   /* of nodes, by slot and level */
    uint32_t *idx;                      /* scratch: the words of a mask that are not empty */
    struct lost lost[PROF_LOST_MAX];    /* not yet taken from the bitmaps, all of word lost_word */
    uint32_t nlost, lost_word, lost_at; /* lost_at: where the next one will be found */
    uint64_t *lics;                     /* held, by slot and id */
    uint32_t nlics;
    struct recall *recall; /* by node */
    uint32_t searches;
    uint64_t holds;
    /* the view made last */
    struct prof_view view;
    uint64_t view_made;
    uint32_t view_id, view_from, view_until;
    int64_t view_end_us;
    uint64_t *scratch;
    uint32_t nscratch;
};

static inline struct step *step_at(const struct pnode *pn, uint32_t i)
{
    return (struct step *)(void *)(pn->mem + (size_t)i * pn->stride);
}
