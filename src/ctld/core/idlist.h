/* idlist.h - growing lists of job ids
 *
 * A list may hold stale ids, which are looked up and skipped.  Without memory the process ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct idlist {
    size_t n, cap;
    uint32_t *ids;
};

void idlist_add(struct idlist *l, uint32_t id);  /* unless it is there: O(n) */
void idlist_push(struct idlist *l, uint32_t id); /* though it may be there */
void idlist_free(struct idlist *l);              /* with l itself; NULL is a no-op */
