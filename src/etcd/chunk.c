/* chunk.c - see chunk.h */
#include "etcd/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "etcd/etcdkeys.h"
#include "journal/format.h"
#include "journal/lebytes.h"

#define CHUNK_MAX (JOURNAL_MAX_RECORD + (1u << 20))

int chunk_begin(struct chunk *c, const char *key, const uint8_t *value, size_t n)
{
    char again[ETCD_NAME_BYTES];

    *c = (struct chunk){ 0 };
    if (strncmp(key, "log/", 4) != 0 || strlen(key) != 20 || n < ETCD_CHUNK_HEAD ||
        get_u32(value) != ETCD_CHUNK_MAGIC)
        return -EBADMSG;
    c->first = strtoull(key + 4, NULL, 16);
    etcd_log_key(c->first, again);
    c->parts = get_u32(value + 4);
    if (!c->first || strcmp(key, again) != 0 || (c->parts && n != ETCD_CHUNK_HEAD))
        return -EBADMSG;
    return chunk_add(c, value + ETCD_CHUNK_HEAD, n - ETCD_CHUNK_HEAD);
}

int chunk_add(struct chunk *c, const uint8_t *part, size_t n)
{
    if (n > CHUNK_MAX || c->len + n > CHUNK_MAX)
        return -EBADMSG;
    if (c->len + n > c->cap) {
        size_t cap = MAX(c->len + n, 2 * c->cap);
        uint8_t *p = realloc(c->data, cap);

        if (!p)
            return -ENOMEM;
        c->data = p;
        c->cap = cap;
    }
    if (n)
        memcpy(c->data + c->len, part, n);
    c->len += n;
    return 0;
}

/* The record at `at`, whole and sound; false: none is there. */
static bool record_at(const struct chunk *c, size_t at, struct record_header *ret)
{
    return c->len - at >= RECORD_HEADER_BYTES && record_header_decode(c->data + at, ret) &&
           record_bytes(ret->len) <= c->len - at && ret->kind == RECORD_DATA &&
           record_check(c->data + at, ret);
}

int chunk_check(struct chunk *c)
{
    uint64_t lsn = c->first;
    size_t at = 0;

    while (at < c->len) {
        struct record_header h;

        if (!record_at(c, at, &h) || h.lsn != lsn)
            return -EBADMSG;
        at += record_bytes(h.len);
        lsn++;
    }
    if (lsn == c->first || (c->parts && lsn != c->first + 1))
        return -EBADMSG;
    c->last = lsn - 1;
    return 0;
}

size_t chunk_offset(const struct chunk *c, uint64_t lsn)
{
    size_t at = 0;

    for (uint64_t i = c->first; i < lsn && at < c->len; i++) {
        struct record_header h;

        if (!record_header_decode(c->data + at, &h))
            break; /* it was checked: cannot be */
        at += record_bytes(h.len);
    }
    return at;
}

void chunk_done(struct chunk *c)
{
    free(c->data);
    *c = (struct chunk){ 0 };
}
