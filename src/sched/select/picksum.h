/* picksum.h - adding up what chosen nodes hold of a job */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/state/bounds.h"
#include "sched/state/classes.h"
#include "sched/state/fits.h"
#include "sched/state/parts.h"
#include "sched/state/question.h"
#include "sched/state/sched_obj.h"
#include "sched/state/shape.h"

struct bitmap;

struct sum {
    uint32_t n;
    uint64_t tasks, gres[SHAPE_PER_JOB_MAX];
};

static inline int push_fit(struct fitvec *v, const struct fit *f)
{
    if (v->n == v->cap) {
        uint32_t cap = v->cap ? v->cap * 2 : 64;
        struct fit *grown = realloc(v->v, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        v->v = grown;
        v->cap = cap;
    }
    v->v[v->n++] = *f;
    return 0;
}

static inline void sum_add(const struct pick *p, struct sum *sum, const struct fit *f)
{
    sum->n++;
    sum->tasks += f->tasks;
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        sum->gres[i] += f->gres[i];
}

static inline bool has_enough(const struct pick *p, const struct sum *sum, uint32_t nodes)
{
    for (uint32_t i = 0; i < p->cls->shape->npj; i++)
        if (sum->gres[i] < p->k->gres[i].per_job)
            return false;
    return sum->n >= nodes && sum->tasks >= p->tasks;
}

static inline struct sum sum_of(const struct pick *p, const struct fitvec *v)
{
    struct sum sum = { 0 };

    for (uint32_t i = 0; i < v->n; i++)
        sum_add(p, &sum, &v->v[i]);
    return sum;
}

static inline bool pick_by_load(const struct pick *p)
{
    return p->s->params.lln || p->part->lln;
}

/* Nodes with about so many free CPUs at least: never too few, rarely many more. */
static inline const struct bitmap *nodes_with_room(const struct sched *s, uint64_t cpus)
{
    uint32_t span = cpus > 1 ? 63 - (uint32_t)__builtin_clzll(cpus) : 0;

    return s->free_ge[MIN(span, SCHED_SPANS - 1)];
}
