/* blobs.c - scripts and environments of jobs in the store; see blobs.h. */
#include "acct/blobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"

#define TOUCH_US (600 * USEC_PER_SEC) /* so exact is the age of a row */

static bool names(const Pst__JobRecord *j, enum blob_kind kind, uint64_t hash)
{
    return kind == BLOB_SCRIPT ? j->has_script_hash && j->script_hash == hash
                               : j->has_env_hash && j->env_hash == hash;
}

static bool wanted(const Pst__Transaction *tx, enum blob_kind kind, uint64_t hash, unsigned keep)
{
    if (!(keep & (kind == BLOB_SCRIPT ? ACCT_SCRIPT : ACCT_ENV)))
        return false;
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_JOB_PUT &&
            names(tx->events[i]->job_put, kind, hash))
            return true;
    return false;
}

bool acct_keeps_blob(const Pst__Transaction *tx, const Pst__Blob *blob, unsigned keep)
{
    return blob->data.len <= ACCT_BLOB_MAX &&
           (wanted(tx, BLOB_SCRIPT, blob->hash, keep) || wanted(tx, BLOB_ENV, blob->hash, keep));
}

static void remember(struct blobs *b, enum blob_kind kind, uint64_t hash, int64_t time_us)
{
    size_t at = (size_t)(hash ^ kind) % BLOBS_SEEN;

    b->seen[at].hash = hash;
    b->seen[at].kind = kind;
    b->seen[at].used_us = time_us;
}

static int put(struct blobs *b, enum blob_kind kind, const Pst__Blob *blob, int64_t time_us)
{
    int r = b->put ? 0 : sql_prepare(b->db, "REPLACE INTO blobs VALUES(?,?,?,?)", &b->put);

    if (r < 0)
        return r;
    if (blob->data.len > ACCT_BLOB_MAX) {
        log_error("accounting: a %s of %zu bytes is not stored, %u are allowed",
                  kind == BLOB_SCRIPT ? "script" : "job's environment", blob->data.len,
                  ACCT_BLOB_MAX);
        return 0;
    }
    sql_bind(b->put, 0, kind);
    sql_bind(b->put, 1, (int64_t)blob->hash);
    sql_bind(b->put, 2, time_us);
    sql_bind_blob(b->put, 3, blob->data.data, blob->data.len);
    remember(b, kind, blob->hash, time_us);
    return sql_run(b->put);
}

/* Named once more: it grows old from now on. */
static int touch(struct blobs *b, enum blob_kind kind, uint64_t hash, int64_t time_us)
{
    size_t at = (size_t)(hash ^ kind) % BLOBS_SEEN;
    int r = 0;

    if (b->seen[at].hash == hash && b->seen[at].kind == kind &&
        time_us - b->seen[at].used_us < TOUCH_US)
        return 0;
    if (!b->touch)
        r = sql_prepare(b->db, "UPDATE blobs SET used_us=? WHERE kind=? AND hash=? AND used_us<?",
                        &b->touch);
    if (r < 0)
        return r;
    sql_bind(b->touch, 0, time_us);
    sql_bind(b->touch, 1, kind);
    sql_bind(b->touch, 2, (int64_t)hash);
    sql_bind(b->touch, 3, time_us);
    remember(b, kind, hash, time_us);
    return sql_run(b->touch);
}

int blobs_apply(struct blobs *b, const Pst__Transaction *tx, unsigned keep)
{
    int r = 0;

    if (!(keep & (ACCT_SCRIPT | ACCT_ENV)))
        return 0;
    for (size_t i = 0; r == 0 && i < tx->n_events; i++) {
        const Pst__Event *ev = tx->events[i];

        if (ev->body_case == PST__EVENT__BODY_BLOB_PUT) {
            for (enum blob_kind kind = BLOB_SCRIPT; r == 0 && kind <= BLOB_ENV; kind++)
                if (wanted(tx, kind, ev->blob_put->hash, keep))
                    r = put(b, kind, ev->blob_put, tx->time_us);
        } else if (ev->body_case == PST__EVENT__BODY_JOB_PUT) {
            if (ev->job_put->has_script_hash && keep & ACCT_SCRIPT)
                r = touch(b, BLOB_SCRIPT, ev->job_put->script_hash, tx->time_us);
            if (r == 0 && ev->job_put->has_env_hash && keep & ACCT_ENV)
                r = touch(b, BLOB_ENV, ev->job_put->env_hash, tx->time_us);
        }
    }
    return r;
}

void blobs_forget(struct blobs *b)
{
    memset(b->seen, 0, sizeof(b->seen));
}

int blobs_get(struct sql *db, enum blob_kind kind, uint64_t hash, uint8_t **ret, size_t *ret_len)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    const void *data;
    int r = sql_prepare(db, "SELECT data FROM blobs WHERE kind=? AND hash=?", &stmt);

    *ret = NULL;
    *ret_len = 0;
    if (r < 0)
        return r;
    sql_bind(stmt, 0, kind);
    sql_bind(stmt, 1, (int64_t)hash);
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
