/* limit_count.c - what a job asks for, and what counts against the limits; see limit.h.
 *
 * A job that starts takes a list of the levels it counts against and of how much; its end gives
 * back exactly that, whatever has been changed meanwhile.  Minutes that running jobs may still use
 * are kept as sums of count and count * end, so that no counter has to be touched as time goes by.
 */
#include "sched/rules/limit_count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/gres/billweights.h"
#include "base/cleanup.h"
#include "sched/rules/limit.h"
#include "sched/rules/limit_data.h"
#include "sched/rules/limit_levels.h"
#include "sched/rules/tresfactor.h"
#include "sched/sched.h"
#include "sched/state/jobs.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

/* ---- how much -------------------------------------------------------------------------------- */

static uint64_t held_gres(const struct sched_alloc_node *n, const struct sched *s,
                          const struct tres_slot *t)
{
    const char *name = s->gres_tab.names[t->gres_name];
    const char *type = t->gres_type == STRTAB_NONE ? NULL : s->gres_tab.names[t->gres_type];
    uint64_t sum = 0;

    for (size_t g = 0; g < n->ngres; g++)
        if (strcmp(n->gres[g].name, name) == 0 &&
            (!type || (n->gres[g].type && strcmp(n->gres[g].type, type) == 0)))
            sum += n->gres[g].count;
    return sum;
}

static uint64_t held_on(const struct sched_alloc_node *n, const struct sched *s,
                        const struct tres_slot *t)
{
    if (n->closed)
        return 0;
    switch (t->type) {
    case SCHED_TRES_CPU:
    case SCHED_TRES_BILLING:
        return n->cpus;
    case SCHED_TRES_MEM:
        return n->mem_mib;
    case SCHED_TRES_NODE:
        return 1;
    case SCHED_TRES_GRES:
        return held_gres(n, s, t);
    default:
        return 0;
    }
}

static uint64_t lics_of(const struct job_lics *l, uint32_t id)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; l && !l->any && i < l->n; i++)
        if (l->v[i].id == id)
            sum += l->v[i].count;
    return sum;
}

static uint64_t amount_asked(const struct ask *a, const struct tres_slot *t)
{
    switch (t->type) {
    case SCHED_TRES_BILLING:
        return (uint64_t)tres_asked(a->e, "cpu");
    case SCHED_TRES_CPU:
    case SCHED_TRES_MEM:
    case SCHED_TRES_NODE:
    case SCHED_TRES_GRES:
        return (uint64_t)tres_asked(a->e, t->name);
    default:
        return 0;
    }
}

static double amount_named(void *ctx, const char *name)
{
    struct ask *a = ctx;

    for (uint32_t i = 0; i < a->s->limits->ntres; i++)
        if (a->s->limits->tres[i].name && strcasecmp(a->s->limits->tres[i].name, name) == 0)
            return (double)ask_tres(a, i);
    return 0;
}

uint64_t ask_tres(struct ask *a, uint32_t slot)
{
    const struct tres_slot *t = &a->s->limits->tres[slot];
    uint64_t n = 0;

    if (a->known[slot / 64] >> (slot % 64) & 1)
        return a->v[slot];
    if (t->type == SCHED_TRES_BILLING && a->part->billing) {
        a->known[slot / 64] |= UINT64_C(1) << (slot % 64); /* a weight of billing itself is none */
        n = billing(a->part->billing, a->part->billing_sum, amount_named, a);
    } else if (t->type == SCHED_TRES_LICENSE)
        n = lics_of(a->lics, t->lic);
    else if (a->alloc)
        for (size_t i = 0; i < a->alloc->nnodes; i++)
            n += held_on(&a->alloc->nodes[i], a->s, t);
    else if (a->e)
        n = amount_asked(a, t);
    a->known[slot / 64] |= UINT64_C(1) << (slot % 64);
    a->v[slot] = n;
    return n;
}

uint64_t ask_tres_node(struct ask *a, uint32_t slot)
{
    const struct tres_slot *t = &a->s->limits->tres[slot];
    uint64_t most = 0, nodes;

    if (a->alloc) {
        for (size_t i = 0; i < a->alloc->nnodes; i++)
            most = MAX(most, held_on(&a->alloc->nodes[i], a->s, t));
        return most;
    }
    if (t->type == SCHED_TRES_LICENSE || !a->e)
        return 0;
    nodes = (uint64_t)tres_asked(a->e, "node");
    return (ask_tres(a, slot) + nodes - 1) / MAX(nodes, 1u);
}

/* ---- counting -------------------------------------------------------------------------------- */

uint32_t limit_qos(const struct sched *s, const struct job *j, uint32_t part, struct level *ret[2])
{
    uint32_t part_qos = part < s->nparts ? s->parts[part]->qos_id : 0;
    struct level *own = j->qos_id ? level_find(s, level_key_qos(j->qos_id)) : NULL;
    struct level *of_part =
        part_qos && part_qos != j->qos_id ? level_find(s, level_key_qos(part_qos)) : NULL;
    bool over = own && (own->flags & SCHED_QOS_OVER_PART);
    uint32_t n = 0;

    if (of_part && !over)
        ret[n++] = of_part;
    if (own)
        ret[n++] = own;
    if (of_part && over)
        ret[n++] = of_part;
    return n;
}

static int collect_levels(struct sched *s, const struct job *j, struct level **list,
                          uint32_t *ret_n)
{
    struct level *qos[2], *a = j->assoc_id ? level_find(s, level_key_assoc(j->assoc_id)) : NULL;
    uint32_t nqos = limit_qos(s, j, j->part, qos), n = 0, account = a ? a->account : STRTAB_NONE;
    int r = 0;

    if ((j->assoc_id && !a) || (j->qos_id && !level_find(s, level_key_qos(j->qos_id))))
        s->limits->missing = true; /* counted anew when it comes */
    while (a && n < LIMIT_LEVELS_MAX - 8) {
        uint32_t above = a->parent_id;

        list[n++] = a;
        a = above ? level_find(s, level_key_assoc(above)) : NULL;
        s->limits->missing = s->limits->missing || (above && !a);
    }
    for (uint32_t i = 0; r == 0 && i < nqos; i++) {
        list[n++] = qos[i];
        r = level_get(s, level_key_user(qos[i]->id, j->uid), &list[n++]);
        if (r == 0 && account != STRTAB_NONE)
            r = level_get(s, level_key_account(qos[i]->id, account), &list[n++]);
    }
    *ret_n = n;
    return r;
}

static void count_level(struct charge *c, bool add)
{
    int64_t end_s = c->end_us / 1000000;

    for (uint32_t k = 0; k < c->nlevels; k++) {
        struct level *l = c->levels[k];

        l->jobs += add ? 1u : -1u;
        for (uint32_t i = 0; i < c->ntres; i++) {
            struct slot_count *n = &l->counts[i];

            n->used += add ? c->tres[i] : -c->tres[i];
            if (c->end_us == INT64_MAX)
                n->endless += add ? c->tres[i] : -c->tres[i];
            else
                n->weighted += (add ? 1 : -1) * (__int128)c->tres[i] * end_s;
        }
    }
}

int limit_charge(struct sched *s, struct job *j)
{
    struct level *list[LIMIT_LEVELS_MAX];
    struct ask a = {
        .s = s, .job = j, .part = s->parts[j->part], .alloc = &j->alloc, .lics = &j->held
    };
    struct charge *c;
    uint32_t n = 0;
    int r;

    if (!s->limits || j->charge || (!j->assoc_id && !j->qos_id && !s->parts[j->part]->qos_id))
        return 0;
    r = collect_levels(s, j, list, &n);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = level_counts_room(s, list[i]);
    if (r < 0)
        return r;
    c = calloc(1, sizeof(*c) + s->limits->ntres * sizeof(c->tres[0]) + n * sizeof(struct level *));
    if (!c)
        return -ENOMEM;
    c->ntres = s->limits->ntres;
    c->levels = (struct level **)(void *)&c->tres[c->ntres];
    c->nlevels = n;
    memcpy(c->levels, list, n * sizeof(list[0]));
    c->end_us = j->end_us;
    for (uint32_t i = 0; i < c->ntres; i++)
        c->tres[i] = ask_tres(&a, i);
    j->charge = c;
    count_level(c, true);
    return 0;
}

void limit_release(struct sched *s, struct job *j)
{
    if (!j->charge)
        return;
    count_level(j->charge, false);
    free(j->charge);
    j->charge = NULL;
    if (!s->travelling)
        s->change++;
}

void limit_end_time(struct job *j)
{
    if (!j->charge || j->charge->end_us == j->end_us)
        return;
    count_level(j->charge, false);
    j->charge->end_us = j->end_us;
    count_level(j->charge, true);
}

void limits_settle(struct sched *s)
{
    struct limits *m = s->limits;

    if (!m || !m->rebuild)
        return;
    m->rebuild = m->missing = false;
    for (uint32_t i = 0; i < s->job_slots; i++) {
        struct job *j = s->jobs[i];

        if (!j || j->state < JOB_PROPOSED || j->uncharged)
            continue;
        limit_release(s, j);
        if (limit_charge(s, j) < 0)
            m->rebuild = true; /* again at the next pass */
    }
}

int sched_job_account(struct sched *s, uint32_t job_id, uint32_t assoc_id, uint32_t qos_id)
{
    struct job *j = job_find(s, job_id);

    if (!j || j->state < JOB_PROPOSED)
        return -ENOENT;
    if (j->uncharged || (j->charge && j->assoc_id == assoc_id && j->qos_id == qos_id))
        return 0;
    limit_release(s, j);
    j->assoc_id = assoc_id;
    j->qos_id = qos_id;
    return limit_charge(s, j);
}

void sched_job_uncharge(struct sched *s, uint32_t job_id)
{
    struct job *j = job_find(s, job_id);

    if (!j || j->state < JOB_PROPOSED)
        return;
    limit_release(s, j);
    j->uncharged = true;
}

uint64_t level_run_minutes(const struct level *l, uint32_t slot, int64_t now_us)
{
    const struct slot_count *n;
    __int128 seconds, all;

    if (slot >= l->ncounts)
        return 0;
    n = &l->counts[slot];
    seconds = n->weighted - (__int128)(n->used - n->endless) * (now_us / 1000000);
    all = (__int128)n->endless * UINT32_MAX + MAX(seconds, (__int128)0) / 60;
    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}
