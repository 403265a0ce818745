/* limit_feed.c - limits, TRES and usage as they are fed; see limit.h */
#include "sched/rules/limit_feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/rules/accrue.h"
#include "sched/rules/limit.h"
#include "sched/rules/limit_data.h"
#include "sched/rules/limit_levels.h"
#include "sched/state/lics.h"
#include "sched/state/parts.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

/* ---- TRES ------------------------------------------------------------------------------------ */

int tres_slot(struct sched *s, uint32_t id, uint32_t *ret)
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

/* Jobs that wait for a limit are looked at again: entries parked for one are called back. */
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
        level_free_lists(&fresh);
        return r;
    }
    level_free_lists(l);
    memcpy(l->lists, fresh.lists, sizeof(l->lists));
    memcpy(l->numbers, in->numbers, sizeof(l->numbers));
    s->limits->accrues = s->limits->accrues || accrue_limited(in->numbers);
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
    level_free_lists(l);
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
            r = level_counts_room(s, l);
        if (r < 0)
            return r;
        less = less || v[i].minutes < l->counts[slot].minutes;
        l->counts[slot].minutes = v[i].minutes;
    }
    less = less || wall_minutes < l->wall_minutes;
    l->wall_minutes = wall_minutes;
    if (less) /* decay may let a job start */
        s->change++;
    return 0;
}
