/* pbarena.c - a bump allocator for unpacking many records; declared in pbutil.h.
 *
 * Chunks form a list; `current` is the one being filled, those behind it are kept empty for reuse.
 * Memory is never given back piece by piece: pb_arena_reset() rewinds, and drops chunks that were
 * made to measure for one large value so that a single big record does not stay for good. */
#include "base/pb/pbutil.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

enum { CHUNK_BYTES = 64 * 1024, ALIGNMENT = 16 };

struct chunk {
    struct chunk *next;
    size_t size, used;
    _Alignas(ALIGNMENT) unsigned char data[];
};

struct pb_arena {
    ProtobufCAllocator allocator;
    struct chunk *first, *current;
    struct chunk *large; /* made to measure */
};

static struct chunk *chunk_new(size_t size)
{
    struct chunk *c = malloc(sizeof(*c) + size);

    if (c)
        *c = (struct chunk){ .size = size };
    return c;
}

static void free_chunks(struct chunk *c)
{
    while (c) {
        struct chunk *next = c->next;

        free(c);
        c = next;
    }
}

static void *alloc_large(struct pb_arena *arena, size_t size)
{
    struct chunk *c = chunk_new(size);

    if (!c)
        return NULL;
    c->next = arena->large;
    arena->large = c;
    return c->data;
}

static void *arena_alloc(void *data, size_t size)
{
    struct pb_arena *arena = data;
    struct chunk *c = arena->current;
    void *p;

    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > CHUNK_BYTES / 4)
        return alloc_large(arena, size);
    if (size > c->size - c->used) {
        if (!c->next)
            c->next = chunk_new(CHUNK_BYTES);
        c = c->next;
        if (!c)
            return NULL;
        c->used = 0;
        arena->current = c;
    }
    p = c->data + c->used;
    c->used += size;
    return p;
}

static void arena_keep(void *data, void *pointer)
{
    (void)data; /* memory goes with pb_arena_reset() */
    (void)pointer;
}

int pb_arena_new(struct pb_arena **ret_arena)
{
    struct pb_arena *arena = calloc(1, sizeof(*arena));

    if (!arena)
        return -ENOMEM;
    arena->first = arena->current = chunk_new(CHUNK_BYTES);
    if (!arena->first) {
        free(arena);
        return -ENOMEM;
    }
    arena->allocator = (ProtobufCAllocator){ arena_alloc, arena_keep, arena };
    *ret_arena = arena;
    return 0;
}

struct pb_arena *pb_arena_free(struct pb_arena *arena)
{
    int saved = errno;

    if (arena) {
        free_chunks(arena->first);
        free_chunks(arena->large);
        free(arena);
    }
    errno = saved;
    return NULL;
}

void pb_arena_reset(struct pb_arena *arena)
{
    free_chunks(arena->large);
    arena->large = NULL;
    arena->current = arena->first;
    arena->first->used = 0;
}

ProtobufCAllocator *pb_arena_allocator(struct pb_arena *arena)
{
    return &arena->allocator;
}
