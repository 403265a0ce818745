/* limit_levels.c - the table of levels that have limits.
 *
 * Levels lie behind one table by key: associations, QOS, and each user's and account's part of a
 * QOS. */
#include "sched/rules/limit_levels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/rules/limit.h"
#include "sched/rules/limit_data.h"
#include "sched/state/sched_obj.h"
#include "sched/base/strtab.h"

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

static int grow_levels(struct limits *m)
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

int limits_make(struct sched *s)
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
        if ((m->nlevels + 1) * 2 > m->nslots && grow_levels(m) < 0)
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

void level_free_lists(struct level *l)
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
        level_free_lists(m->slots[i]);
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

/* ---- levels as they are fed ------------------------------------------------------------------ */

int level_counts_room(struct sched *s, struct level *l)
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
