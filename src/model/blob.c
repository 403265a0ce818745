/* blob.c - scripts and environments: named by their digest, kept while a job names them
 * (docs/design/0002-identity.md)
 *
 * Two tables that never meet.  In `blobs` a name is a SHA-256, found by its first bytes and then
 * compared whole.  In `old_blobs` are those of logs older than digests, whose names are 64-bit
 * hashes that users could make collide: the first with a name keeps it, as it was when the log was
 * written, and only jobs of that time refer to it. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/cluster_private.h"
#include "model/payers.h"

struct blob *blob_hold(struct blob *b)
{
    if (b)
        atomic_fetch_add_explicit(&b->holders, 1, memory_order_relaxed);
    return b;
}

struct blob *blob_drop(struct blob *b)
{
    if (b && atomic_fetch_sub_explicit(&b->holders, 1, memory_order_acq_rel) == 1)
        free(b);
    return NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Any number but the two that are no keys. */
static uint64_t place_of(const struct digest *d)
{
    return (digest_place(d) >> 1) + 1;
}

struct blob *cluster_blob(const struct cluster *c, const struct digest *name)
{
    struct blob *b = idmap_get(&c->blobs, place_of(name));

    while (b && !digest_equal(&b->digest, name))
        b = b->next;
    return b;
}

static struct blob *old_blob(const struct cluster *c, uint64_t hash)
{
    return hash ? idmap_get(&c->old_blobs, hash) : NULL;
}

/* A record names by digest, or is older than digests. */
static struct blob_name name_of(bool has, const ProtobufCBinaryData *digest, bool has_hash,
                                uint64_t hash)
{
    struct blob_name n = { .old_hash = !has && has_hash ? hash : 0 };

    n.has_digest = has && digest_read(&n.digest, digest->data, digest->len);
    return n;
}

static struct blob *blob_named(const struct cluster *c, const struct blob_name *n)
{
    return n->has_digest ? cluster_blob(c, &n->digest) : old_blob(c, n->old_hash);
}

void model_blob_names(const Pst__JobRecord *r, struct blob_names *ret)
{
    ret->script =
        name_of(r->has_script_digest, &r->script_digest, r->has_script_hash, r->script_hash);
    ret->env = name_of(r->has_env_digest, &r->env_digest, r->has_env_hash, r->env_hash);
}

struct blob *cluster_script(const struct cluster *c, const Pst__JobRecord *r)
{
    struct blob_name n =
        name_of(r->has_script_digest, &r->script_digest, r->has_script_hash, r->script_hash);

    return blob_named(c, &n);
}

struct blob *cluster_env(const struct cluster *c, const Pst__JobRecord *r)
{
    struct blob_name n = name_of(r->has_env_digest, &r->env_digest, r->has_env_hash, r->env_hash);

    return blob_named(c, &n);
}

/* ---- in and out ------------------------------------------------------------------------------ */

static int insert_blob(struct cluster *c, struct blob *b)
{
    if (b->old_hash)
        return idmap_put(&c->old_blobs, b->old_hash, b);
    b->next = idmap_get(&c->blobs, place_of(&b->digest));
    return idmap_put(&c->blobs, place_of(&b->digest), b);
}

static void remove_blob(struct cluster *c, struct blob *b)
{
    uint64_t place = place_of(&b->digest);
    struct blob *first;

    if (b->old_hash) {
        (void)idmap_remove(&c->old_blobs, b->old_hash);
        blob_drop(b);
        return;
    }
    first = idmap_get(&c->blobs, place);
    if (first == b && !b->next) {
        (void)idmap_remove(&c->blobs, place);
    } else if (first == b) {
        (void)idmap_put(&c->blobs, place, b->next); /* replaces: takes no memory */
    } else {
        while (first->next != b)
            first = first->next;
        first->next = b->next;
    }
    b->next = NULL;
    blob_drop(b);
}

int model_blob_put(struct cluster *c, const Pst__Blob *rec, struct err *err)
{
    struct blob_name n = name_of(rec->has_digest, &rec->digest, rec->has_hash, rec->hash);
    struct blob *b;

    if (!n.has_digest && (!n.old_hash || n.old_hash == UINT64_MAX))
        return err_set(err, -EUCLEAN, "a blob without a usable name");
    if (blob_named(c, &n))
        return 0;
    b = malloc(sizeof(*b) + rec->data.len);
    if (!b)
        return -ENOMEM;
    b->digest = n.digest;
    b->old_hash = n.old_hash;
    b->next = NULL;
    b->refs = 0;
    atomic_init(&b->holders, 1);
    b->len = rec->data.len;
    if (b->len)
        memcpy(b->data, rec->data.data, b->len);
    if (insert_blob(c, b) < 0) {
        free(b);
        return -ENOMEM;
    }
    return 0;
}

static void count_ref(struct cluster *c, const struct blob_name *n, uint32_t uid, int delta)
{
    struct blob *b = blob_named(c, n);

    if (!b || (delta < 0 && !b->refs))
        return; /* the job was there before the blob: only in a log put together by hand */
    if (b->refs == 0) {
        b->payer = uid;
        payers_add(c, uid, payers_cost(b->len));
    }
    b->refs += (uint32_t)delta;
    if (b->refs == 0) {
        payers_sub(c, b->payer, payers_cost(b->len));
        remove_blob(c, b);
    }
}

void model_blob_refs(struct cluster *c, const struct blob_names *n, uint32_t uid, int delta)
{
    count_ref(c, &n->script, uid, delta);
    count_ref(c, &n->env, uid, delta);
}

void model_job_blobs(struct cluster *c, const Pst__JobRecord *r, int delta)
{
    struct blob_names n;

    model_blob_names(r, &n);
    model_blob_refs(c, &n, r->uid, delta);
}

void model_blobs_free(struct cluster *c)
{
    struct blob *b;

    for (size_t pos = 0; (b = idmap_next(&c->old_blobs, &pos));)
        blob_drop(b);
    for (size_t pos = 0; (b = idmap_next(&c->blobs, &pos));) {
        while (b) {
            struct blob *next = b->next;

            blob_drop(b);
            b = next;
        }
    }
    idmap_done(&c->blobs);
    idmap_done(&c->old_blobs);
}

/* ---- all of them ----------------------------------------------------------------------------- */

uint64_t model_blobs_hash(const struct cluster *c)
{
    const struct blob *b;
    uint64_t h = 0;

    for (size_t pos = 0; (b = idmap_next(&c->old_blobs, &pos));)
        h += b->old_hash;
    for (size_t pos = 0; (b = idmap_next(&c->blobs, &pos));)
        for (; b; b = b->next)
            h += digest_place(&b->digest);
    return h;
}

void blob_record(const struct blob *b, Pst__Blob *ret)
{
    pst__blob__init(ret);
    ret->has_hash = b->old_hash != 0;
    ret->hash = b->old_hash;
    ret->has_digest = b->old_hash == 0;
    if (ret->has_digest)
        ret->digest =
            (ProtobufCBinaryData){ .len = DIGEST_SIZE, .data = (uint8_t *)b->digest.bytes };
    ret->has_data = true;
    /* packing changes neither */
    ret->data = (ProtobufCBinaryData){ .len = b->len, .data = (uint8_t *)b->data };
}

static int dump_blob(const struct blob *b, cluster_dump_fn *fn, void *ctx)
{
    Pst__Transaction tx = PST__TRANSACTION__INIT;
    Pst__Event ev = PST__EVENT__INIT, *events = &ev;
    Pst__Blob rec;

    blob_record(b, &rec);
    ev.body_case = PST__EVENT__BODY_BLOB_PUT;
    ev.blob_put = &rec;
    tx.events = &events;
    tx.n_events = 1;
    return fn(ctx, &tx);
}

int model_blobs_dump(const struct cluster *c, cluster_dump_fn *fn, void *ctx)
{
    const struct blob *b;
    int r = 0;

    for (size_t pos = 0; r >= 0 && (b = idmap_next(&c->old_blobs, &pos));)
        r = dump_blob(b, fn, ctx);
    for (size_t pos = 0; r >= 0 && (b = idmap_next(&c->blobs, &pos));)
        for (; r >= 0 && b; b = b->next)
            r = dump_blob(b, fn, ctx);
    return r;
}
