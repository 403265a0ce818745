/* watchring.c - the newest changes, as they are sent; see watchring.h */
#include "rest/watch/watchring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define FIRST_SLOTS 64u

static size_t item_bytes(const struct watch_item *item)
{
    return sizeof(*item) + (item->object ? strlen(item->object) : 0) + item->len +
           strlen(item->facts.name) + strlen(item->facts.partition) + 3;
}

static int grow_ring(struct watch_ring *ring)
{
    size_t cap = ring->cap ? ring->cap * 2 : FIRST_SLOTS;
    struct watch_item **slots;

    if (ring->head - ring->tail < ring->cap)
        return 0;
    slots = calloc(cap, sizeof(struct watch_item *));
    if (!slots)
        return -ENOMEM;
    for (uint64_t i = ring->tail; i < ring->head; i++)
        slots[i % cap] = ring->slots[i % ring->cap];
    free(ring->slots);
    ring->slots = slots;
    ring->cap = cap;
    return 0;
}

struct watch_item *watchring_item(struct watch_at at, const struct watch_facts *facts,
                                  const char *text, size_t len)
{
    const char *name = facts->name ? facts->name : "";
    const char *partition = facts->partition ? facts->partition : "";
    size_t name_size = strlen(name) + 1, partition_size = strlen(partition) + 1;
    struct watch_item *item = malloc(sizeof(*item) + len + 1 + name_size + partition_size);
    char *behind;

    if (!item)
        return NULL;
    item->at = at;
    item->facts = *facts;
    item->object = NULL;
    item->len = len;
    memcpy(item->text, text, len);
    item->text[len] = '\0';
    behind = item->text + len + 1;
    item->facts.name = memcpy(behind, name, name_size);
    item->facts.partition = memcpy(behind + name_size, partition, partition_size);
    return item;
}

void watchring_item_free(struct watch_item *item)
{
    if (item)
        free(item->object);
    free(item);
}

int watchring_put(struct watch_ring *ring, struct watch_item *item)
{
    if (grow_ring(ring) < 0)
        return -ENOMEM;
    ring->slots[ring->head++ % ring->cap] = item;
    ring->bytes += item_bytes(item);
    ring->end = item->at;
    return 0;
}

void watchring_drop(struct watch_ring *ring)
{
    struct watch_item *item = ring->slots[ring->tail % ring->cap];

    ring->bytes -= item_bytes(item);
    ring->base = item->at;
    ring->tail++;
    watchring_item_free(item);
}

void watchring_restart(struct watch_ring *ring, struct watch_at at)
{
    while (ring->tail < ring->head)
        watchring_drop(ring);
    ring->base = ring->end = at;
}

bool watchring_covers(const struct watch_ring *ring, struct watch_at at)
{
    return !watch_at_before(at, ring->base) && !watch_at_before(ring->end, at);
}

uint64_t watchring_find(const struct watch_ring *ring, struct watch_at at)
{
    uint64_t lo = ring->tail, hi = ring->head;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (watch_at_before(at, ring->slots[mid % ring->cap]->at))
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

const struct watch_item *watchring_get(const struct watch_ring *ring, uint64_t seq)
{
    return seq >= ring->tail && seq < ring->head ? ring->slots[seq % ring->cap] : NULL;
}

void watchring_done(struct watch_ring *ring)
{
    while (ring->tail < ring->head)
        watchring_drop(ring);
    free(ring->slots);
    *ring = (struct watch_ring){ 0 };
}
