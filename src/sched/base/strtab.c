/* strtab.c - strings turned into small dense ids; see strtab.h.
 *
 * Open addressing with linear probing, never more than half full; nothing is ever removed. */
#include "sched/base/strtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint32_t strtab_hash(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ len, w;

    for (; len >= sizeof(w); p += sizeof(w), len -= sizeof(w)) {
        memcpy(&w, p, sizeof(w));
        h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    w = 0;
    memcpy(&w, p, len);
    h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
    h = (h ^ h >> 29) * UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(h >> 32);
}

static uint32_t *find_slot(const struct strtab *t, const char *text, size_t len)
{
    uint32_t mask = t->nslots - 1;

    for (uint32_t i = strtab_hash(text, len) & mask;; i = (i + 1) & mask) {
        const char *name;

        if (!t->slots[i])
            return &t->slots[i];
        name = t->names[t->slots[i] - 1];
        if (strlen(name) == len && memcmp(name, text, len) == 0)
            return &t->slots[i];
    }
}

uint32_t strtab_find(const struct strtab *t, const char *text, size_t len)
{
    return t->nslots ? *find_slot(t, text, len) - 1 : STRTAB_NONE;
}

static int grow_strtab(struct strtab *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 16;
    char **names = realloc(t->names, cap * sizeof(*names));
    uint32_t *slots;

    if (!names)
        return -ENOMEM;
    t->names = names;
    slots = calloc((size_t)cap * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(t->slots);
    t->slots = slots;
    t->nslots = cap * 2;
    t->cap = cap;
    for (uint32_t i = 0; i < t->n; i++)
        *find_slot(t, names[i], strlen(names[i])) = i + 1;
    return 0;
}

int strtab_intern(struct strtab *t, const char *text, uint32_t *ret_id)
{
    size_t len = strlen(text);
    uint32_t id = strtab_find(t, text, len);

    if (id == STRTAB_NONE) {
        char *copy;

        if (t->n == t->cap && grow_strtab(t) < 0)
            return -ENOMEM;
        copy = strdup(text);
        if (!copy)
            return -ENOMEM;
        id = t->n++;
        t->names[id] = copy;
        *find_slot(t, text, len) = id + 1;
    }
    *ret_id = id;
    return 0;
}

void strtab_done(struct strtab *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        free(t->names[i]);
    free(t->names);
    free(t->slots);
    *t = (struct strtab){ 0 };
}
