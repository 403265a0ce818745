/* idlist.c - growing lists of job ids; see idlist.h */
#include "ctld/core/idlist.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/must.h"

void idlist_push(struct idlist *l, uint32_t id)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 4;
        uint32_t *bigger = must(realloc(l->ids, cap * sizeof(*bigger)));

        l->ids = bigger;
        l->cap = cap;
    }
    l->ids[l->n++] = id;
}

void idlist_add(struct idlist *l, uint32_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->ids[i] == id)
            return;
    idlist_push(l, id);
}

void idlist_free(struct idlist *l)
{
    if (!l)
        return;
    free(l->ids);
    free(l);
}
