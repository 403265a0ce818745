/* profile_int.h - the layout of a profile, for the sources that make it up: profile.c, prof_*.c */
#pragma once

#include "sched/plan/profile.h"
#include "sched/sched_int.h"

#define PROF_BLOCK 16u
#define PROF_SLOTS_MAX 480u

struct step {
    uint32_t from, uid, label, keeper;
    bool held, any, mixed, owned, labels_mixed;
    int64_t starts_us; /* what somebody planned to begin with it was promised, 0 = nobody is */
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
#define PROF_LOST_MAX 64u

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

/* profile.c */
uint32_t prof_slot_from(const struct prof *pf, int64_t at_us);
void prof_lics_add(struct prof *pf, const struct job_lics *l, uint32_t from, uint32_t until);

/* prof_steps.c */
struct layout {
    uint32_t firm, used, dev, parts, words; /* offsets in step.w */
};

struct hold { /* of one job on one node */
    const struct sched_alloc_node *an;
    uint32_t part, uid, label, keeper; /* keeper: id of a job that is planned */
    int64_t start_us;                  /* and what it is promised */
    bool firm, cpus, owned;
};

struct layout step_layout(const struct node *n);
int prof_steps_room(struct pnode *pn, uint32_t n);
uint32_t step_find(const struct pnode *pn, uint32_t slot); /* the step that slot lies in */
void step_add(struct sched *s, uint32_t id, struct step *st, const struct hold *h);
uint32_t step_free(const struct node *n, const struct step *st); /* CPUs */
int prof_steps_clear(struct sched *s, uint32_t id);              /* nothing is held */
/* Hold it in the steps alone, not in the bitmaps. */
int prof_steps_hold(struct sched *s, const struct hold *h, uint32_t from, uint32_t until);
/* Is there room for an in this step too?  Devices apart. */
bool step_holds(struct sched *s, const struct step *st, const struct sched_alloc_node *an,
                uint32_t part);

/* prof_bits.c */
int prof_bits_make(struct sched *s);
uint32_t levels_of(const struct prof *pf, uint32_t free_cpus); /* levels a node reaches */
/* The step st, which lasts until that slot, has less free than before.  In force after
 * prof_bits_flush(). */
void prof_bits_refresh(struct sched *s, uint32_t id, const struct step *st, uint32_t until,
                       uint32_t before, bool held_before);
void prof_bits_flush(struct prof *pf);
/* What a node has free, slot by slot: levels, and PROF_HELD. */
#define PROF_HELD 0x80u
void prof_levels(const struct sched *s, uint32_t id, uint8_t levels[PROF_SLOTS_MAX]);
void prof_bits_change(struct sched *s, uint32_t id, const uint8_t was[PROF_SLOTS_MAX],
                      const uint8_t is[PROF_SLOTS_MAX]);
