/* watchring.h - the newest changes, as they are sent, in the order in which they happened
 *
 * Pure, no lock: its owner has one.  Items have sequence numbers from 0 on; those in [tail, head)
 * are there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rest/watch/watchwords.h"

struct watch_item {
    struct watch_at at;
    struct watch_facts facts; /* its strings lie behind the text */
    char *object;             /* the job as it is now, one object of JSON; NULL: none */
    size_t len;
    char text[]; /* an object of JSON in one line, without the line's end */
};

struct watch_ring {
    struct watch_item **slots;
    size_t cap; /* a power of 2 */
    uint64_t tail, head;
    size_t bytes;
    struct watch_at base; /* every change behind it is here ... */
    struct watch_at end;  /* ... up to here */
};

/* An item with copies of all; NULL: out of memory.  watchring_item_free() it, or put it. */
struct watch_item *watchring_item(struct watch_at at, const struct watch_facts *facts,
                                  const char *text, size_t len);
void watchring_item_free(struct watch_item *item);                   /* NULL is fine */
int watchring_put(struct watch_ring *ring, struct watch_item *item); /* -ENOMEM: not taken */
void watchring_drop(struct watch_ring *ring);                        /* the oldest */
void watchring_restart(struct watch_ring *ring, struct watch_at at); /* empty, behind `at` */
/* Does it hold every change behind `at`? */
bool watchring_covers(const struct watch_ring *ring, struct watch_at at);
uint64_t watchring_find(const struct watch_ring *ring, struct watch_at at); /* the first behind */
const struct watch_item *watchring_get(const struct watch_ring *ring, uint64_t seq);
void watchring_done(struct watch_ring *ring);
