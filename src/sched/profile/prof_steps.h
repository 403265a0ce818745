/* prof_steps.h - the steps of one node */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/profile/prof_data.h"
#include "sched/state/gresrow.h"
#include "sched/state/nodes.h"

struct sched;
struct sched_alloc_node;

struct layout {
    uint32_t firm, used, dev, parts, words; /* offsets in step.w */
};

struct hold { /* of one job on one node */
    const struct sched_alloc_node *an;
    uint32_t part, uid, label, keeper; /* keeper: id of a job that is planned */
    int64_t start_us;                  /* and what it is promised */
    bool firm, cpus, owned;
};

static inline struct layout step_layout(const struct node *n)
{
    struct layout l = { .firm = n->nwords, .used = n->nwords * 2 };

    l.dev = l.used + n->ngres;
    l.parts = l.dev;
    for (uint32_t i = 0; i < n->ngres; i++)
        l.parts += n->gres[i].dev.nwords;
    l.words = l.parts + (n->nparts + 1) / 2;
    return l;
}

/* The step that slot lies in. */
static inline uint32_t step_find(const struct pnode *pn, uint32_t slot)
{
    uint32_t lo = 0, hi = pn->n - 1;

    while (lo < hi) { /* the lowest index that begins at or before it */
        uint32_t mid = (lo + hi) / 2;

        if (step_at(pn, mid)->from <= slot)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static inline uint32_t step_free(const struct node *n, const struct step *st)
{
    uint32_t held = 0;

    for (uint32_t w = 0; w < n->nwords; w++)
        held += (uint32_t)__builtin_popcountll(st->w[w]);
    return n->cpus > held ? n->cpus - held : 0;
}

int prof_steps_room(struct pnode *pn, uint32_t n);
void step_add(struct sched *s, uint32_t id, struct step *st, const struct hold *h);
int prof_steps_clear(struct sched *s, uint32_t id); /* nothing is held */
/* Is there room for an in this step too?  Devices apart. */
bool step_holds(struct sched *s, const struct step *st, const struct sched_alloc_node *an,
                uint32_t part);
