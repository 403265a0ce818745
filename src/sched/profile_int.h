/* profile_int.h - the layout of a profile; see profile.c */
#pragma once

#include "sched/profile.h"
#include "sched/sched_int.h"

#define PROF_BLOCK 16u

struct step {
    uint32_t from, uid, keeper;
    bool held, any, mixed, owned;
    int64_t starts_us; /* what somebody planned to begin with it was promised, 0 = nobody is */
    uint64_t mem;
    uint64_t w[]; /* see layout_of() */
};

struct pnode {
    char *mem; /* of steps, stride bytes each */
    uint32_t n, cap, stride;
};

struct recall {
    uint32_t search, from_end, until_begin,
        until_end; /* stands for from < from_end and until between these */
    bool fits;
    struct fit fit;
};

struct prof {
    int64_t *times; /* when each slot begins */
    int64_t *ends;  /* the latest end that is rounded up to it, 0 = none */
    uint32_t nslots;
    bool *release; /* something comes free at its beginning */
    struct pnode *nodes;
    uint32_t nlevels, nwords, most_cpus;
    uint64_t *bits;   /* by slot, level, word */
    uint64_t *blocks; /* likewise, of PROF_BLOCK slots together */
    uint32_t *counts; /* of nodes, by slot and level */
    uint32_t *idx;    /* scratch: the words of a mask that are not empty */
    uint64_t *lics;   /* held, by slot and id */
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
