/* cache.c - records in memory between the journal and their rows; see cache.h.
 *
 * A chained hash table whose entries also form a list by use and a list of those that are dirty,
 * the latter in the order they became so: new runs are stored in the order of their row ids. */
#include "acct/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int cache_init(struct cache *c, size_t nbuckets)
{
    *c = (struct cache){ .nbuckets = nbuckets };
    c->dirty_end = &c->dirty_first;
    c->buckets = calloc(nbuckets, sizeof(struct entry *));
    return c->buckets ? 0 : -ENOMEM;
}

static struct entry **find_bucket(const struct cache *c, uint64_t id, int64_t step)
{
    uint64_t h =
        (id ^ (uint64_t)step * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

    return &c->buckets[(h >> 32) & (c->nbuckets - 1)];
}

static void list_remove(struct cache *c, struct entry *e)
{
    if (e->newer)
        e->newer->older = e->older;
    else
        c->newest = e->older;
    if (e->older)
        e->older->newer = e->newer;
    else
        c->oldest = e->newer;
}

static void list_push(struct cache *c, struct entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    if (c->newest)
        c->newest->newer = e;
    else
        c->oldest = e;
    c->newest = e;
}

struct entry *cache_get(struct cache *c, uint64_t id, int64_t step)
{
    struct entry *e = *find_bucket(c, id, step);

    while (e && (e->id != id || e->step != step))
        e = e->hash_next;
    if (e && e != c->newest) {
        list_remove(c, e);
        list_push(c, e);
    }
    return e;
}

int cache_add(struct cache *c, uint64_t id, int64_t step, int64_t run, ProtobufCMessage *rec,
              struct entry **ret_entry)
{
    struct entry *e = calloc(1, sizeof(*e)), **at = find_bucket(c, id, step);

    if (!e)
        return -ENOMEM;
    e->id = id;
    e->step = step;
    e->run = run;
    e->rec = rec;
    e->hash_next = *at;
    *at = e;
    list_push(c, e);
    c->n++;
    *ret_entry = e;
    return 0;
}

void cache_mark(struct cache *c, struct entry *e)
{
    if (e->dirty)
        return;
    e->dirty = true;
    e->dirty_next = NULL;
    *c->dirty_end = e;
    c->dirty_end = &e->dirty_next;
}

struct entry *cache_next_dirty(struct cache *c)
{
    struct entry *e = c->dirty_first;

    if (!e)
        return NULL;
    c->dirty_first = e->dirty_next;
    if (!c->dirty_first)
        c->dirty_end = &c->dirty_first;
    e->dirty = false;
    return e;
}

void cache_drop(struct cache *c, struct entry *e)
{
    struct entry **at = find_bucket(c, e->id, e->step);

    while (*at != e)
        at = &(*at)->hash_next;
    *at = e->hash_next;
    list_remove(c, e);
    c->n--;
    protobuf_c_message_free_unpacked(e->rec, NULL);
    free(e);
}

void cache_drop_steps(struct cache *c, int64_t run)
{
    for (struct entry *e = c->oldest, *next; e; e = next) {
        next = e->newer;
        if (e->step != CACHE_JOB && e->run == run)
            cache_drop(c, e);
    }
}

void cache_evict(struct cache *c, size_t max)
{
    while (c->n > max)
        cache_drop(c, c->oldest);
}

void cache_clear(struct cache *c)
{
    c->dirty_first = NULL;
    c->dirty_end = &c->dirty_first;
    cache_evict(c, 0);
}

void cache_done(struct cache *c)
{
    if (!c->buckets)
        return;
    cache_clear(c);
    free(c->buckets);
    c->buckets = NULL;
}
