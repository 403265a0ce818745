/* limit.c - levels that have limits, and what counts against them; see limit.h.
 *
 * Levels lie behind one table by key: associations, QOS, and each user's and account's part of a
 * QOS.  A job that starts takes a list of the levels it counts against and of how much; its end
 * gives back exactly that, whatever has been changed meanwhile.  Minutes that running jobs may
 * still use are kept as sums of count and count * end, so that no counter has to be touched as
 * time goes by. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "sched/rules/limit_int.h"

/* ---- the table of levels --------------------------------------------------------------------- */

uint64_t level_key_assoc(uint32_t id)
{
    return (UINT64_C(1) << 62) | id;
}

uint64_t level_key_qos(uint32_t id)
{
    return (UINT64_C(2) << 62) | (UINT64_C(3) << 60) | id;
}

uint64_t level_key_user(uint32_t qos, uint32_t uid)
{
    return (UINT64_C(2) << 62) | (UINT64_C(1) << 60) | ((uint64_t)(qos & 0xfffffff) << 32) | uid;
}

uint64_t level_key_account(uint32_t qos, uint32_t account)
{
    return (UINT64_C(2) << 62) | (UINT64_C(2) << 60) | ((uint64_t)(qos & 0xfffffff) << 32) |
           account;
}

static uint32_t slot_of(const struct limits *m, uint64_t key)
{
    uint32_t i = strtab_hash(&key, sizeof(key)) & (m->nslots - 1);

    while (m->slots[i] && m->slots[i]->key != key)
        i = (i + 1) & (m->nslots - 1);
    return i;
}

struct level *level_find(const struct sched *s, uint64_t key)
{
    const struct limits *m = s->limits;

    return m && m->nslots ? m->slots[slot_of(m, key)] : NULL;
}

static int grow(struct limits *m)
{
    uint32_t had = m->nslots;
    struct level **old = m->slots;

    m->nslots = had ? had * 2 : 256;
    m->slots = calloc(m->nslots, sizeof(struct level *));
    if (!m->slots) {
        m->slots = old;
        m->nslots = had;
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < had; i++)
        if (old[i])
            m->slots[slot_of(m, old[i]->key)] = old[i];
    free(old);
    return 0;
}

static int limits_make(struct sched *s)
{
    if (s->limits)
        return 0;
    s->limits = calloc(1, sizeof(*s->limits));
    return s->limits ? 0 : -ENOMEM;
}

int level_get(struct sched *s, uint64_t key, struct level **ret)
{
    struct level *l = level_find(s, key);
    struct limits *m;

    if (!l) {
        if (limits_make(s) < 0)
            return -ENOMEM;
        m = s->limits;
        if ((m->nlevels + 1) * 2 > m->nslots && grow(m) < 0)
            return -ENOMEM;
        l = calloc(1, sizeof(*l));
        if (!l)
            return -ENOMEM;
        l->key = key;
        l->usage_factor = 1;
        for (size_t i = 0; i < SCHED_LIMIT_NUMBERS; i++)
            l->numbers[i] = SCHED_NO_LIMIT;
        m->slots[slot_of(m, key)] = l;
        m->nlevels++;
    }
    *ret = l;
    return 0;
}

static void lists_free(struct level *l)
{
    for (size_t i = 0; i < SCHED_LIMIT_LISTS; i++) {
        free(l->lists[i].v);
        l->lists[i].v = NULL;
        l->lists[i].n = 0;
    }
}

void levels_done(struct sched *s)
{
    struct limits *m = s->limits;

    if (!m)
        return;
    for (uint32_t i = 0; i < m->nslots; i++) {
        if (!m->slots[i])
            continue;
        lists_free(m->slots[i]);
        free(m->slots[i]->counts);
        free(m->slots[i]);
    }
    free(m->slots);
    for (uint32_t i = 0; i < m->ntres; i++)
        free(m->tres[i].name);
    strtab_done(&m->accounts);
    free(m);
    s->limits = NULL;
}

/* ---- TRES ------------------------------------------------------------------------------------ */

static int tres_slot(struct sched *s, uint32_t id, uint32_t *ret)
{
    struct limits *m = s->limits;

    for (uint32_t i = 0; i < m->ntres; i++)
        if (m->tres[i].id == id) {
            *ret = i;
            return 0;
        }
    if (m->ntres == SCHED_TRES_MAX)
        return -ERANGE;
    m->tres[m->ntres] = (struct tres_slot){ .id = id,
                                            .type = SCHED_TRES_OTHER,
                                            .gres_name = STRTAB_NONE,
                                            .gres_type = STRTAB_NONE,
                                            .lic = STRTAB_NONE };
    *ret = m->ntres++;
    return 0;
}

static enum sched_tres_type type_of(const char *name)
{
    static const struct {
        const char *name;
        enum sched_tres_type type;
    } rows[] = { { "cpu", SCHED_TRES_CPU },
                 { "mem", SCHED_TRES_MEM },
                 { "node", SCHED_TRES_NODE },
                 { "energy", SCHED_TRES_ENERGY },
                 { "billing", SCHED_TRES_BILLING } };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].type;
    return strncmp(name, "gres/", 5) == 0      ? SCHED_TRES_GRES
           : strncmp(name, "license/", 8) == 0 ? SCHED_TRES_LICENSE
           : strncmp(name, "bb/", 3) == 0      ? SCHED_TRES_BB
                                               : SCHED_TRES_OTHER;
}

/* "gpu" or "gpu:a100" */
static int intern_gres(struct sched *s, struct tres_slot *t, const char *what)
{
    _cleanup_free_ char *name = strdup(what);
    char *type = name ? strchr(name, ':') : NULL;
    int r;

    if (!name)
        return -ENOMEM;
    if (type)
        *type++ = '\0';
    r = strtab_intern(&s->gres_tab, name, &t->gres_name);
    return r == 0 && type ? strtab_intern(&s->gres_tab, type, &t->gres_type) : r;
}

int sched_tres_put(struct sched *s, uint32_t tres_id, const char *name)
{
    uint32_t slot;
    struct tres_slot *t;
    char *copy = strdup(name);
    int r = !copy ? -ENOMEM : limits_make(s);

    if (r == 0)
        r = tres_slot(s, tres_id, &slot);
    if (r < 0) {
        free(copy);
        return r;
    }
    t = &s->limits->tres[slot];
    free(t->name);
    t->name = copy;
    t->type = type_of(name);
    if (t->type == SCHED_TRES_GRES)
        r = intern_gres(s, t, name + 5);
    else if (t->type == SCHED_TRES_LICENSE)
        r = lic_id(s, name + 8, &t->lic);
    s->limits->totals_gen = 0;
    s->limits->rebuild = true; /* of what runs it was not counted */
    return r;
}

/* ---- levels as they are fed ------------------------------------------------------------------ */

void sched_limits_init(struct sched_limits *l)
{
    *l = (struct sched_limits){ 0 };
    for (size_t i = 0; i < SCHED_LIMIT_NUMBERS; i++)
        l->numbers[i] = SCHED_NO_LIMIT;
}

/* Whoever waits for a limit gets another look: entries parked for one are called back. */
static void looks_anew(struct sched *s)
{
    for (uint32_t i = 0; i < s->nparts; i++)
        s->parts[i]->unpark = true;
    s->change++;
}

static int take_limits(struct sched *s, struct level *l, const struct sched_limits *in)
{
    struct level fresh = { 0 };
    int r = 0;

    for (size_t k = 0; r == 0 && k < SCHED_LIMIT_LISTS; k++) {
        if (!in->lists[k].n)
            continue;
        fresh.lists[k].v = calloc(in->lists[k].n, sizeof(*fresh.lists[k].v));
        if (!fresh.lists[k].v)
            r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < in->lists[k].n; i++) {
            struct slot_limit *to = &fresh.lists[k].v[fresh.lists[k].n++];

            to->count = in->lists[k].v[i].count;
            r = tres_slot(s, in->lists[k].v[i].tres_id, &to->slot);
        }
    }
    if (r < 0) {
        lists_free(&fresh);
        return r;
    }
    lists_free(l);
    memcpy(l->lists, fresh.lists, sizeof(l->lists));
    memcpy(l->numbers, in->numbers, sizeof(l->numbers));
    looks_anew(s);
    return 0;
}

int sched_limit_assoc_put(struct sched *s, uint32_t id, uint32_t parent, const char *account,
                          const struct sched_limits *limits)
{
    struct level *l;
    uint32_t name = STRTAB_NONE;
    int r = !id || id == parent ? -EINVAL : level_get(s, level_key_assoc(id), &l);

    if (r == 0)
        r = strtab_intern(&s->limits->accounts, account ? account : "", &name);
    if (r == 0)
        r = take_limits(s, l, limits);
    if (r < 0)
        return r;
    s->limits->rebuild = s->limits->rebuild || (l->exists && l->parent_id != parent);
    s->limits->rebuild = s->limits->rebuild || (!l->exists && s->limits->missing);
    l->exists = true;
    l->id = id;
    l->parent_id = parent;
    l->account = name;
    return 0;
}

int sched_limit_qos_put(struct sched *s, uint32_t id, const struct sched_qos_limits *q)
{
    struct level *l;
    int r = !id ? -EINVAL : level_get(s, level_key_qos(id), &l);

    if (r == 0)
        r = take_limits(s, l, &q->limits);
    if (r < 0)
        return r;
    s->limits->rebuild = s->limits->rebuild || (!l->exists && s->limits->missing);
    l->exists = l->qos = true;
    l->id = id;
    l->flags = q->flags;
    l->usage_factor = q->usage_factor;
    l->limit_factor = q->limit_factor;
    l->usage_threshold = q->usage_threshold;
    return 0;
}

/* Counters stay: jobs that run count against it until they end. */
static void level_lift(struct sched *s, uint64_t key)
{
    struct level *l = level_find(s, key);

    if (!l)
        return;
    lists_free(l);
    for (size_t i = 0; i < SCHED_LIMIT_NUMBERS; i++)
        l->numbers[i] = SCHED_NO_LIMIT;
    l->flags = 0;
    l->exists = false;
    looks_anew(s);
}

void sched_limit_assoc_remove(struct sched *s, uint32_t id)
{
    level_lift(s, level_key_assoc(id));
}

void sched_limit_qos_remove(struct sched *s, uint32_t id)
{
    level_lift(s, level_key_qos(id));
}

void sched_limit_enforce(struct sched *s, bool on, bool safe)
{
    if (limits_make(s) < 0)
        return; /* nothing was fed that could be enforced */
    if (s->limits->on == on && s->limits->safe == safe)
        return;
    s->limits->on = on;
    s->limits->safe = safe;
    looks_anew(s);
}

static int counts_room(struct sched *s, struct level *l)
{
    struct slot_count *grown;

    if (l->ncounts >= s->limits->ntres)
        return 0;
    grown = realloc(l->counts, s->limits->ntres * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + l->ncounts, 0, (s->limits->ntres - l->ncounts) * sizeof(*grown));
    l->counts = grown;
    l->ncounts = s->limits->ntres;
    return 0;
}

int sched_limit_usage(struct sched *s, bool qos, uint32_t id, const struct sched_tres_usage *v,
                      size_t n, double wall_minutes)
{
    struct level *l = level_find(s, qos ? level_key_qos(id) : level_key_assoc(id));
    bool less = false;
    int r = 0;

    if (!l)
        return -ENOENT;
    for (size_t i = 0; r == 0 && i < n; i++) {
        uint32_t slot;

        r = tres_slot(s, v[i].tres_id, &slot);
        if (r == 0)
            r = counts_room(s, l);
        if (r < 0)
            return r;
        less = less || v[i].minutes < l->counts[slot].minutes;
        l->counts[slot].minutes = v[i].minutes;
    }
    less = less || wall_minutes < l->wall_minutes;
    l->wall_minutes = wall_minutes;
    if (less) /* decay may let somebody go */
        s->change++;
    return 0;
}

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

static uint64_t asked(const struct ask *a, const struct tres_slot *t)
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
        n = asked(a, t);
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

static int collect(struct sched *s, const struct job *j, struct level **list, uint32_t *ret_n)
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

static void count(struct charge *c, bool add)
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
    r = collect(s, j, list, &n);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        r = counts_room(s, list[i]);
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
    count(c, true);
    return 0;
}

void limit_release(struct sched *s, struct job *j)
{
    if (!j->charge)
        return;
    count(j->charge, false);
    free(j->charge);
    j->charge = NULL;
    if (!s->travelling)
        s->change++;
}

void limit_end_time(struct job *j)
{
    if (!j->charge || j->charge->end_us == j->end_us)
        return;
    count(j->charge, false);
    j->charge->end_us = j->end_us;
    count(j->charge, true);
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
    __int128 seconds;

    if (slot >= l->ncounts)
        return 0;
    n = &l->counts[slot];
    if (n->endless)
        return UINT64_MAX;
    seconds = n->weighted - (__int128)n->used * (now_us / 1000000);
    return seconds <= 0 ? 0 : (uint64_t)(seconds / 60);
}
