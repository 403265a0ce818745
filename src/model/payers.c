/* payers.c - bytes by user; see payers.h.  The value in the map is the number itself. */
#include "model/payers.h"

#include "base/cleanup.h"

static uint64_t key_of(uint32_t uid)
{
    return (uint64_t)uid + 1;
}

static void set_bytes(struct cluster *c, uint32_t uid, size_t bytes)
{
    if (!bytes)
        (void)idmap_remove(&c->paid, key_of(uid));
    else if (idmap_put(&c->paid, key_of(uid), (void *)bytes) < 0)
        return; /* out of memory: he is charged less, and never below nothing */
}

size_t payers_bytes(const struct cluster *c, uint32_t uid)
{
    return (size_t)idmap_get(&c->paid, key_of(uid));
}

void payers_add(struct cluster *c, uint32_t uid, size_t bytes)
{
    if (bytes)
        set_bytes(c, uid, payers_bytes(c, uid) + bytes);
}

void payers_sub(struct cluster *c, uint32_t uid, size_t bytes)
{
    size_t has = payers_bytes(c, uid);

    if (bytes)
        set_bytes(c, uid, has - MIN(bytes, has));
}
