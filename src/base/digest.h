/* digest.h - SHA-256: the name of contents (docs/design/0002-identity.md)
 *
 * Two contents of one digest cannot be made, so equal digests mean equal bytes, also of contents
 * that are no longer at hand.  A 64-bit hash finds an entry of a table; it never says that two
 * things are the same.  This is a library of its own (base_digest), so that a command which names
 * no contents does not load libcrypto.  Thread-safe; about 1 us, and 1 ns a byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DIGEST_SIZE 32u

struct digest {
    uint8_t bytes[DIGEST_SIZE];
};

static inline bool digest_equal(const struct digest *a, const struct digest *b)
{
    return memcmp(a->bytes, b->bytes, DIGEST_SIZE) == 0;
}

/* As bytes of a message; false: they are no digest. */
static inline bool digest_read(struct digest *d, const uint8_t *bytes, size_t len)
{
    if (len != DIGEST_SIZE)
        return false;
    memcpy(d->bytes, bytes, DIGEST_SIZE);
    return true;
}

/* FNV-1a: where to begin to look in a table, or a short name; anybody may make two texts of one
 * hash.  With FNV_BEGIN, or with the hash of what stands before.  Needs no library. */
#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)
static inline uint64_t fnv_bytes(const void *data, size_t len, uint64_t before)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++)
        before = (before ^ p[i]) * UINT64_C(0x100000001b3);
    return before;
}

static inline uint64_t fnv_text(const char *text)
{
    return fnv_bytes(text, strlen(text), FNV_BEGIN);
}

/* Where to begin to look in a table; anybody may make two digests of one place. */
static inline uint64_t digest_place(const struct digest *d)
{
    uint64_t n;

    memcpy(&n, d->bytes, sizeof(n));
    return n;
}

/* Errors: -ENOMEM. */
int digest_of(const void *data, size_t len, struct digest *ret);

/* In pieces, as if they were one.  digest_end() and digest_drop() free the run. */
struct digest_run;
int digest_begin(struct digest_run **ret_run);
int digest_add(struct digest_run *run, const void *data, size_t len);
int digest_end(struct digest_run *run, struct digest *ret);
struct digest_run *digest_drop(struct digest_run *run); /* always NULL; NULL is a no-op */
