/* blobs.c - scripts and environments of jobs in the store; see blobs.h. */
#include "acct/blobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"

#define TOUCH_US (600 * USEC_PER_SEC) /* so exact is the age of a row */

/* ---- names ----------------------------------------------------------------------------------- */

static bool name_digest(struct blob_key *key, const uint8_t *bytes, size_t len)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; len == DIGEST_SIZE && i < len; i++) {
        key->name[2 * i] = hex[bytes[i] >> 4];
        key->name[2 * i + 1] = hex[bytes[i] & 15];
    }
    return len == DIGEST_SIZE;
}

static bool name_hash(struct blob_key *key, bool has, uint64_t hash)
{
    if (!has || !hash)
        return false;
    (void)snprintf(key->name, sizeof(key->name), "%" PRId64, (int64_t)hash);
    return true;
}

static bool job_names(const Pst__JobRecord *j, enum blob_kind kind, struct blob_key *key)
{
    bool script = kind == BLOB_SCRIPT;
    const ProtobufCBinaryData *digest = script ? &j->script_digest : &j->env_digest;

    *key = (struct blob_key){ .kind = (uint8_t)kind };
    if (script ? j->has_script_digest : j->has_env_digest)
        return name_digest(key, digest->data, digest->len);
    return script ? name_hash(key, j->has_script_hash, j->script_hash)
                  : name_hash(key, j->has_env_hash, j->env_hash);
}

static bool blob_names(const Pst__Blob *blob, enum blob_kind kind, struct blob_key *key)
{
    *key = (struct blob_key){ .kind = (uint8_t)kind };
    return blob->has_digest ? name_digest(key, blob->digest.data, blob->digest.len)
                            : name_hash(key, blob->has_hash, blob->hash);
}

static bool same_key(const struct blob_key *a, const struct blob_key *b)
{
    return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

/* ---- what is wanted -------------------------------------------------------------------------- */

static bool is_wanted(const Pst__Transaction *tx, const struct blob_key *key, unsigned keep)
{
    struct blob_key his;

    if (!(keep & (key->kind == BLOB_SCRIPT ? ACCT_SCRIPT : ACCT_ENV)))
        return false;
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_JOB_PUT &&
            job_names(tx->events[i]->job_put, (enum blob_kind)key->kind, &his) &&
            same_key(&his, key))
            return true;
    return false;
}

bool acct_keeps_blob(const Pst__Transaction *tx, const Pst__Blob *blob, unsigned keep)
{
    struct blob_key script, env;

    return blob->data.len <= ACCT_BLOB_MAX && blob_names(blob, BLOB_SCRIPT, &script) &&
           blob_names(blob, BLOB_ENV, &env) &&
           (is_wanted(tx, &script, keep) || is_wanted(tx, &env, keep));
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Where a key is remembered: any of its bytes will do, of a digest and of a number. */
static size_t place_of(const struct blob_key *key)
{
    size_t at = key->kind;

    for (const char *p = key->name; *p; p++)
        at = at * 31 + (uint8_t)*p;
    return at % BLOBS_SEEN;
}

static void remember_blob(struct blobs *b, const struct blob_key *key, int64_t time_us)
{
    size_t at = place_of(key);

    b->seen[at].key = *key;
    b->seen[at].used_us = time_us;
}

/* 1: there is a row, 0: there is none. */
static int find_row(struct blobs *b, const struct blob_key *key)
{
    int r = b->find
                ? 0
                : sql_prepare(b->db, "SELECT 1 FROM contents WHERE kind=? AND name=?", &b->find);

    if (r < 0)
        return r;
    sql_bind(b->find, 0, key->kind);
    sql_bind_text(b->find, 1, key->name);
    r = sql_step(b->find);
    if (r > 0)
        sql_reset(b->find);
    return r;
}

/* Named once more: it grows old from now on. */
static int touch_blob(struct blobs *b, const struct blob_key *key, int64_t time_us)
{
    size_t at = place_of(key);
    int r = 0;

    if (same_key(&b->seen[at].key, key) && time_us - b->seen[at].used_us < TOUCH_US)
        return 0;
    if (!b->touch)
        r = sql_prepare(b->db,
                        "UPDATE contents SET used_us=? WHERE kind=? AND name=? AND used_us<?",
                        &b->touch);
    if (r < 0)
        return r;
    sql_bind(b->touch, 0, time_us);
    sql_bind(b->touch, 1, key->kind);
    sql_bind_text(b->touch, 2, key->name);
    sql_bind(b->touch, 3, time_us);
    remember_blob(b, key, time_us);
    return sql_run(b->touch);
}

/* Is its name the digest of its bytes?  Old names do not tell. */
static int proves_name(const Pst__Blob *blob)
{
    struct digest own, named;
    int r = 0;

    if (!blob->has_digest)
        return 1;
    r = digest_of(blob->data.data, blob->data.len, &own);
    return r < 0 ? r
                 : digest_read(&named, blob->digest.data, blob->digest.len) &&
                       digest_equal(&own, &named);
}

static const char *kind_text(const struct blob_key *key)
{
    return key->kind == BLOB_SCRIPT ? "script" : "job's environment";
}

static int put_blob(struct blobs *b, const struct blob_key *key, const Pst__Blob *blob,
                    int64_t time_us)
{
    int r = find_row(b, key);

    if (r != 0)
        return r < 0 ? r : touch_blob(b, key, time_us);
    if (blob->data.len > ACCT_BLOB_MAX) {
        log_error("accounting: a %s of %zu bytes is not stored, %u are allowed", kind_text(key),
                  blob->data.len, ACCT_BLOB_MAX);
        return 0;
    }
    r = proves_name(blob);
    if (r == 0)
        log_error("accounting: a %s is not stored, its name is not that of its bytes",
                  kind_text(key));
    if (r <= 0)
        return r;
    r = b->put ? 0 : sql_prepare(b->db, "REPLACE INTO contents VALUES(?,?,?,?)", &b->put);
    if (r < 0)
        return r;
    sql_bind(b->put, 0, key->kind);
    sql_bind_text(b->put, 1, key->name);
    sql_bind(b->put, 2, time_us);
    sql_bind_blob(b->put, 3, blob->data.data, blob->data.len);
    remember_blob(b, key, time_us);
    return sql_run(b->put);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int apply_put(struct blobs *b, const Pst__Transaction *tx, const Pst__Blob *blob,
                     unsigned keep)
{
    struct blob_key key;
    int r = 0;

    for (enum blob_kind kind = BLOB_SCRIPT; r == 0 && kind <= BLOB_ENV; kind++)
        if (blob_names(blob, kind, &key) && is_wanted(tx, &key, keep))
            r = put_blob(b, &key, blob, tx->time_us);
    return r;
}

static int apply_job(struct blobs *b, const Pst__JobRecord *j, unsigned keep, int64_t time_us)
{
    struct blob_key key;
    int r = 0;

    if (keep & ACCT_SCRIPT && job_names(j, BLOB_SCRIPT, &key))
        r = touch_blob(b, &key, time_us);
    if (r == 0 && keep & ACCT_ENV && job_names(j, BLOB_ENV, &key))
        r = touch_blob(b, &key, time_us);
    return r;
}

int blobs_apply(struct blobs *b, const Pst__Transaction *tx, unsigned keep)
{
    int r = 0;

    if (!(keep & (ACCT_SCRIPT | ACCT_ENV)))
        return 0;
    for (size_t i = 0; r == 0 && i < tx->n_events; i++) {
        const Pst__Event *ev = tx->events[i];

        if (ev->body_case == PST__EVENT__BODY_BLOB_PUT)
            r = apply_put(b, tx, ev->blob_put, keep);
        else if (ev->body_case == PST__EVENT__BODY_JOB_PUT)
            r = apply_job(b, ev->job_put, keep, tx->time_us);
    }
    return r;
}

void blobs_forget(struct blobs *b)
{
    memset(b->seen, 0, sizeof(b->seen));
}

int blobs_get(struct sql *db, enum blob_kind kind, const Pst__JobRecord *job, uint8_t **ret,
              size_t *ret_len)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct blob_key key;
    const void *data;
    int r;

    *ret = NULL;
    *ret_len = 0;
    if (!job_names(job, kind, &key))
        return 0;
    r = sql_prepare(db, "SELECT data FROM contents WHERE kind=? AND name=?", &stmt);
    if (r < 0)
        return r;
    sql_bind(stmt, 0, key.kind);
    sql_bind_text(stmt, 1, key.name);
    r = sql_step(stmt);
    if (r <= 0)
        return r;
    data = sql_blob(stmt, 0, ret_len);
    *ret = malloc(*ret_len + 1);
    if (*ret && *ret_len)
        memcpy(*ret, data, *ret_len);
    sql_reset(stmt);
    return *ret ? 0 : -ENOMEM;
}
