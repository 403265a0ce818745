/* blob_util.h - names of scripts and environments for tests of the model, which takes a name as
 * it is */
#pragma once

#include "model/tx.h"

/* Digests of equal first bytes for numbers that differ by 2^32: they meet at one place of a
 * table. */
static inline struct digest name_n(uint64_t n)
{
    uint32_t low = (uint32_t)n, high = (uint32_t)(n >> 32);
    struct digest d = { .bytes = { 1 } };

    memcpy(d.bytes + 1, &low, sizeof(low));
    memcpy(d.bytes + 20, &high, sizeof(high));
    return d;
}

static inline void blob_n(Pst__Transaction *tx, uint64_t n, const void *data, size_t len)
{
    struct digest d = name_n(n);

    tx_blob(tx, &d, data, len);
}

/* As releases older than digests wrote it. */
static inline void blob_old(Pst__Transaction *tx, uint64_t hash, const void *data, size_t len)
{
    Pst__Blob *b;

    blob_n(tx, 0, data, len);
    b = tx->events[tx->n_events - 1]->blob_put;
    b->has_digest = 0;
    free(b->digest.data);
    b->digest = (ProtobufCBinaryData){ 0 };
    SET(b, hash, hash);
}

static inline void script_n(Pst__JobRecord *r, uint64_t n)
{
    struct digest d = name_n(n);

    tx_digest(&d, &r->has_script_digest, &r->script_digest);
}

static inline void env_n(Pst__JobRecord *r, uint64_t n)
{
    struct digest d = name_n(n);

    tx_digest(&d, &r->has_env_digest, &r->env_digest);
}
