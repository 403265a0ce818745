/* topokind.h - what the files of one kind of topology share: the state of a choice under way */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/topo/topo.h"
#include "sched/topo/topobits.h"
#include "sched/topo/topochoose.h"

struct topo_sum { /* of nodes */
    uint32_t n;
    uint64_t caps[TOPO_CAPS_MAX];
};

/* Memory for n things of size bytes, valid until the next choice; calls of one choice may move what
 * earlier ones gave, so each kind asks once for all it needs. */
void *topo_space_get(struct topo_space *sp, size_t bytes);
/* Memory that lasts over all choices of one question. */
uint64_t *topo_space_keep(struct topo_space *sp, size_t bytes);

/* Is the node a candidate? */
static inline bool topo_is_cand(const struct topo_ask *a, uint32_t id)
{
    return id >> 6 < a->nwords && (a->cand[id >> 6] >> (id & 63) & 1);
}

static inline uint32_t topo_weight_of(const struct topo_ask *a, uint32_t id)
{
    return a->weight ? a->weight[id] : 0;
}

static inline void topo_sum_add(const struct topo_ask *a, struct topo_sum *s, uint32_t id)
{
    s->n++;
    for (uint32_t i = 0; i < a->ncaps; i++)
        s->caps[i] += a->caps ? a->caps[(size_t)id * a->ncaps + i] : a->each[i];
}

/* n candidates of which nothing is known but each[] */
static inline void topo_sum_alike(const struct topo_ask *a, struct topo_sum *s, uint32_t n)
{
    s->n += n;
    for (uint32_t i = 0; i < a->ncaps; i++)
        s->caps[i] += (uint64_t)n * a->each[i];
}

static inline bool topo_has_caps(const struct topo_ask *a, const struct topo_sum *s)
{
    for (uint32_t i = 0; i < a->ncaps; i++)
        if (s->caps[i] < a->need[i])
            return false;
    return true;
}

/* Would more be enough beside have, for so many nodes in all? */
static inline bool topo_suffices(const struct topo_ask *a, const struct topo_sum *have,
                                 const struct topo_sum *more, uint32_t nodes)
{
    for (uint32_t i = 0; i < a->ncaps; i++)
        if (have->caps[i] + more->caps[i] < a->need[i])
            return false;
    return have->n + more->n >= nodes;
}

/* Candidates of a unit. */
void topo_sum_unit(const struct topo_ask *a, uint32_t unit, struct topo_sum *s);
/* The lowest weight among the candidates of a unit, UINT32_MAX without any. */
uint32_t topo_unit_weight(const struct topo_ask *a, uint32_t unit);

/* The node goes from the candidates to the chosen.  -ENOMEM. */
int topo_take(struct topo_ask *a, struct topo_space *sp, struct topo_sum *have, uint32_t id);
/* Candidates of a unit of at most this weight, ascending, until there are `nodes` of them and they
 * are enough; never more than ask->max.  -ENOMEM. */
int topo_take_unit(struct topo_ask *a, struct topo_space *sp, struct topo_sum *have, uint32_t unit,
                   uint32_t weight, uint32_t nodes);
