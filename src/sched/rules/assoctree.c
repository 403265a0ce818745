/* assoctree.c - associations and QOS: what the fair-share, association and QOS factors come from.
 *
 * Associations lie in one array in the order they came; a table of open addressing finds them by
 * id.  Shares are computed for all at once, when something changed, at the computation of
 * priorities. */
#include "sched/rules/assoctree.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/rules/fairshare.h"
#include "sched/sched.h"
#include "sched/state/bounds.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

struct assocs {
    struct sched_assoc *list;
    struct fairshare_node *nodes; /* beside list: what was computed last */
    uint32_t n, cap;
    uint32_t *slots, nslots; /* index + 1, 0 = empty */
    uint32_t max_priority;
    bool dirty;
};

void assocs_done(struct sched *s)
{
    if (s->assocs) {
        free(s->assocs->list);
        free(s->assocs->nodes);
        free(s->assocs->slots);
        free(s->assocs);
    }
    strtab_done(&s->qos_tab);
    free(s->qos_priority);
}

static uint32_t *find_slot(const struct assocs *a, uint32_t id)
{
    uint32_t i = (id * UINT32_C(2654435769)) >> 7 & (a->nslots - 1);

    while (a->slots[i] && a->list[a->slots[i] - 1].id != id)
        i = (i + 1) & (a->nslots - 1);
    return &a->slots[i];
}

static uint32_t find_assoc(const struct sched *s, uint32_t id)
{
    const struct assocs *a = s->assocs;

    return a && a->nslots && id ? *find_slot(a, id) : 0;
}

static int rehash_assocs(struct assocs *a, uint32_t nslots)
{
    uint32_t *slots = calloc(nslots, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(a->slots);
    a->slots = slots;
    a->nslots = nslots;
    for (uint32_t i = 0; i < a->n; i++)
        *find_slot(a, a->list[i].id) = i + 1;
    return 0;
}

static int grow_assocs(struct assocs *a)
{
    uint32_t cap = a->cap ? a->cap * 2 : 64;
    struct sched_assoc *list = realloc(a->list, cap * sizeof(*list));
    struct fairshare_node *nodes;

    if (!list)
        return -ENOMEM;
    a->list = list;
    nodes = realloc(a->nodes, cap * sizeof(*nodes));
    if (!nodes)
        return -ENOMEM;
    a->nodes = nodes;
    a->cap = cap;
    return rehash_assocs(a, cap * 2);
}

/* Priorities are computed anew where they go by it.  By default they do not, and the queue may have
 * a million jobs. */
static void shares_moved(struct sched *s)
{
    const struct sched_params *p = &s->params;

    if (p->weight_fairshare || p->weight_assoc || p->weight_qos || p->weight_age)
        s->prio_done = false;
}

int sched_assoc_put(struct sched *s, const struct sched_assoc *in)
{
    struct assocs *a = s->assocs;
    uint32_t at = find_assoc(s, in->id);

    if (!in->id || in->parent == in->id)
        return -EINVAL;
    if (!a) {
        a = s->assocs = calloc(1, sizeof(*a));
        if (!a)
            return -ENOMEM;
    }
    if (!at) {
        int r = a->n == a->cap ? grow_assocs(a) : 0;

        if (r < 0)
            return r;
        a->nodes[a->n] = (struct fairshare_node){ 0 };
        at = ++a->n;
        a->list[at - 1].id = in->id;
        *find_slot(a, in->id) = at;
    }
    a->list[at - 1] = *in;
    a->dirty = true;
    shares_moved(s);
    return 0;
}

void sched_assoc_remove(struct sched *s, uint32_t id)
{
    struct assocs *a = s->assocs;
    uint32_t at = find_assoc(s, id);

    if (!at)
        return;
    a->n--;
    a->list[at - 1] = a->list[a->n];
    a->nodes[at - 1] = a->nodes[a->n];
    for (uint32_t i = 0; i < a->nslots; i++)
        a->slots[i] = 0;
    for (uint32_t i = 0; i < a->n; i++) /* seldom: associations go when an operator deletes them */
        *find_slot(a, a->list[i].id) = i + 1;
    a->dirty = true;
    shares_moved(s);
}

void sched_assocs_clear(struct sched *s)
{
    struct assocs *a = s->assocs;

    if (!a)
        return;
    for (uint32_t i = 0; i < a->nslots; i++)
        a->slots[i] = 0;
    a->n = 0;
    a->dirty = true;
    shares_moved(s);
}

int sched_assoc_usage(struct sched *s, uint32_t id, double usage)
{
    uint32_t at = find_assoc(s, id);

    if (!at)
        return -ENOENT;
    s->assocs->list[at - 1].usage = usage;
    s->assocs->dirty = true; /* counts from the next computation on */
    return 0;
}

int assocs_refresh(struct sched *s)
{
    struct assocs *a = s->assocs;
    enum fairshare_kind kind = FAIRSHARE_TREE;

    if (!a || !a->dirty)
        return 0;
    if (s->params.prio_flags & SCHED_PRIO_DEPTH_OBLIVIOUS)
        kind = FAIRSHARE_DEPTH_OBLIVIOUS;
    else if (s->params.prio_flags & SCHED_PRIO_NO_FAIR_TREE)
        kind = FAIRSHARE_CLASSIC;
    a->max_priority = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct sched_assoc *in = &a->list[i];
        uint32_t parent = find_assoc(s, in->parent);

        /* A parent that is not known (yet) hides what is below it. */
        a->nodes[i] = (struct fairshare_node){ .parent = in->parent ? parent ? parent - 1 : a->n
                                                                    : FAIRSHARE_ROOT,
                                               .shares = in->shares,
                                               .use_parent = in->use_parent,
                                               .user = in->user,
                                               .usage = in->usage };
        a->max_priority = MAX(a->max_priority, in->priority);
    }
    a->dirty = false;
    return fairshare_compute(a->nodes, a->n, kind, s->params.fairshare_dampening);
}

double assoc_fairshare(const struct sched *s, uint32_t id)
{
    uint32_t at = find_assoc(s, id);

    return at ? s->assocs->nodes[at - 1].factor : 0;
}

double sched_assoc_fairshare(struct sched *s, uint32_t id)
{
    return assocs_refresh(s) < 0 ? 0 : assoc_fairshare(s, id);
}

double assoc_factor(const struct sched *s, uint32_t id)
{
    uint32_t at = find_assoc(s, id), priority = at ? s->assocs->list[at - 1].priority : 0;

    if (s->params.prio_flags & SCHED_PRIO_NO_NORMAL_ASSOC)
        return priority;
    return priority ? (double)priority / s->assocs->max_priority : 0;
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static void qos_changed(struct sched *s)
{
    s->max_qos = 0;
    for (uint32_t i = 0; i < s->nqos; i++)
        s->max_qos = MAX(s->max_qos, s->qos_priority[i]);
    shares_moved(s);
}

int sched_qos_put(struct sched *s, const char *name, uint32_t priority)
{
    uint32_t id, *grown;
    int r = strtab_intern(&s->qos_tab, name, &id);

    if (r < 0)
        return r;
    if (id >= SCHED_MAX_QOS)
        return -ERANGE;
    if (id >= s->nqos) {
        grown = realloc(s->qos_priority, (id + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        s->qos_priority = grown;
        while (s->nqos <= id)
            grown[s->nqos++] = 0;
    }
    s->qos_priority[id] = priority;
    qos_changed(s);
    return 0;
}

void sched_qos_remove(struct sched *s, const char *name)
{
    (void)sched_qos_put(s, name, 0); /* the name stays: jobs may have it */
}

void sched_qos_clear(struct sched *s)
{
    for (uint32_t i = 0; i < s->nqos; i++)
        s->qos_priority[i] = 0;
    qos_changed(s);
}

double qos_factor(const struct sched *s, uint32_t qos)
{
    uint32_t priority = qos < s->nqos ? s->qos_priority[qos] : 0;

    if (s->params.prio_flags & SCHED_PRIO_NO_NORMAL_QOS)
        return priority;
    return s->max_qos ? (double)priority / s->max_qos : 0;
}
