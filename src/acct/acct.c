/* acct.c - the accounting store's feeding side: transactions become rows
 *
 * Records of jobs and steps that live are kept in a cache, changed there, and written once per
 * batch (store.c), together with the cursor.  Invariant: outside of a batch the cache equals the
 * database. An error undoes the batch in both, so that it can be applied again from the cursor.
 *
 * Durability: see db.c.  One thread. */
#include "acct/acct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/store.h"
#include "base/pbutil.h"
#include "model/array.h"
#include "model/cluster.h"
#include "model/job.h"

#define CACHE_MAX 2048u        /* records kept between batches */
#define CACHE_BATCH_MAX 65536u /* and within one */
#define NAME_MAX_BYTES 128u

/* What the meta table holds. */
struct meta {
    uint64_t cursor;
    int64_t base;
    char cluster[NAME_MAX_BYTES], cluster_id[NAME_MAX_BYTES];
};

struct acct {
    struct store store;
    struct meta meta;  /* as of the batch being applied */
    struct meta saved; /* as committed */
    bool in_batch;
    char error[ERR_TEXT_MAX];
};

/* ---- meta ---------------------------------------------------------------------------------------
 */

static void copy_name(char to[NAME_MAX_BYTES], const char *from)
{
    (void)snprintf(to, NAME_MAX_BYTES, "%s", from ? from : ""); /* cut: compared only */
}

static int meta_load(sqlite3 *db, struct meta *ret)
{
    sqlite3_stmt *stmt;
    int rc, r = acct_db_prepare(db, "SELECT name, value FROM meta", &stmt);

    if (r < 0)
        return r;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);

        if (strcmp(name, "cursor") == 0)
            ret->cursor = (uint64_t)sqlite3_column_int64(stmt, 1);
        else if (strcmp(name, "base") == 0)
            ret->base = sqlite3_column_int64(stmt, 1);
        else if (strcmp(name, "cluster") == 0)
            copy_name(ret->cluster, (const char *)sqlite3_column_text(stmt, 1));
        else if (strcmp(name, "cluster_id") == 0)
            copy_name(ret->cluster_id, (const char *)sqlite3_column_text(stmt, 1));
    }
    if (rc != SQLITE_DONE)
        r = acct_db_errno(db);
    (void)sqlite3_finalize(stmt); /* repeats the error just taken */
    return r;
}

static int meta_put(sqlite3 *db, const char *name, const char *text, int64_t number)
{
    sqlite3_stmt *stmt;
    int r = acct_db_prepare(db, "INSERT OR REPLACE INTO meta VALUES(?1,?2)", &stmt);

    if (r < 0)
        return r;
    (void)sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC); /* fails on no statement */
    if (text)
        (void)sqlite3_bind_text(stmt, 2, text, -1, SQLITE_STATIC);
    else
        (void)sqlite3_bind_int64(stmt, 2, number);
    r = acct_db_run(stmt);
    (void)sqlite3_finalize(stmt); /* repeats the error just taken */
    return r;
}

/* ---- opening ------------------------------------------------------------------------------------
 */

static int check_cluster(struct acct *a, const char *path, const char *cluster, struct err *err)
{
    if (!cluster)
        return 0;
    if (a->meta.cluster[0] && strncmp(a->meta.cluster, cluster, NAME_MAX_BYTES - 1) != 0)
        return err_set(err, -EEXIST, "accounting: %s belongs to cluster %s, this is %s", path,
                       a->meta.cluster, cluster);
    if (a->meta.cluster[0])
        return 0;
    copy_name(a->meta.cluster, cluster);
    return meta_put(a->store.db, "cluster", a->meta.cluster, 0);
}

struct acct *acct_close(struct acct *a)
{
    int saved = errno;

    if (!a)
        return NULL;
    if (a->in_batch)
        (void)acct_db_exec(a->store.db, "ROLLBACK"); /* closing does as much */
    store_done(&a->store);
    free(a);
    errno = saved;
    return NULL;
}

int acct_open(const char *path, const char *cluster, struct acct **ret_acct, struct err *err)
{
    _cleanup_(acct_close) struct acct *a = calloc(1, sizeof(*a));
    struct err why = { .text = "" };
    sqlite3 *db;
    int r;

    if (!a)
        return -ENOMEM;
    r = acct_db_open(path, &db, &why);
    if (r == 0)
        r = store_init(&a->store, db);
    if (r == 0)
        r = meta_load(db, &a->meta);
    if (r == 0)
        r = check_cluster(a, path, cluster, &why);
    if (r < 0)
        return why.text[0]
                   ? err_set(err, r, "%s", why.text)
                   : err_set(err, r, "accounting: cannot read %s: %s", path, strerrordesc_np(-r));
    a->store.base = a->meta.base;
    a->saved = a->meta;
    *ret_acct = TAKE_PTR(a);
    return 0;
}

uint64_t acct_cursor(const struct acct *a)
{
    return a->saved.cursor;
}

const char *acct_error(const struct acct *a)
{
    return a->error;
}

/* ---- batches ------------------------------------------------------------------------------------
 */

/* Remember why, and make cache and database what they were before the batch. */
static int fail(struct acct *a, int r)
{
    bool db_failed = sqlite3_errcode(a->store.db) != SQLITE_OK && r != -ENOMEM;

    (void)snprintf(a->error, sizeof(a->error), "%s",
                   db_failed ? sqlite3_errmsg(a->store.db) : strerrordesc_np(-r));
    if (a->in_batch && !sqlite3_get_autocommit(a->store.db))
        (void)acct_db_exec(a->store.db, "ROLLBACK"); /* some errors have done it already */
    cache_clear(&a->store.cache);
    a->meta = a->saved;
    a->store.base = a->meta.base;
    a->in_batch = false;
    return r;
}

int acct_begin(struct acct *a)
{
    int r = acct_db_exec(a->store.db, "BEGIN IMMEDIATE");

    if (r < 0)
        return fail(a, r);
    a->in_batch = true;
    return 0;
}

int acct_commit(struct acct *a)
{
    int r = store_flush(&a->store);

    if (r == 0)
        r = store_save_cursor(&a->store, a->meta.cursor);
    if (r == 0)
        r = acct_db_exec(a->store.db, "COMMIT");
    if (r < 0)
        return fail(a, r);
    a->in_batch = false;
    a->saved = a->meta;
    cache_evict(&a->store.cache, CACHE_MAX);
    return 0;
}

int acct_rewind(struct acct *a, uint64_t lsn)
{
    int r = store_save_cursor(&a->store, lsn);

    if (r < 0)
        return fail(a, r);
    a->meta.cursor = a->saved.cursor = lsn;
    return 0;
}

/* ---- jobs ---------------------------------------------------------------------------------------
 */

/* What every stored record fulfils: nothing volatile, and an end when it is over. */
static void tidy(Pst__JobRecord *rec, int64_t time_us)
{
    pb_clear_from(&rec->base, FIELD_VOLATILE);
    if (job_is_ended(rec) && !rec->has_end_us) {
        rec->has_end_us = true;
        rec->end_us = time_us;
    }
}

static int merge_and_clear(ProtobufCMessage *dst, const ProtobufCMessage *set, size_t nclear,
                           const uint32_t *clear)
{
    int r = set ? pb_merge(dst, set) : 0;

    for (size_t i = 0; r == 0 && i < nclear; i++)
        (void)pb_clear(dst, clear[i]); /* a field of a newer release: nothing to clear here */
    return r;
}

static int job_put(struct acct *a, const Pst__JobRecord *rec, int64_t time_us)
{
    struct store *s = &a->store;
    struct entry *e;
    ProtobufCMessage *copy;
    int r;

    if (!rec->has_job_id || !rec->has_db_id)
        return 0; /* no run that could be told from others */
    e = cache_get(&s->cache, rec->job_id, CACHE_JOB);
    if (e) { /* the id comes round again: its former owner's row stays as it is */
        r = store_flush(s);
        e = cache_get(&s->cache, rec->job_id, CACHE_JOB);
        if (r < 0)
            return r;
        if (e)
            cache_drop(&s->cache, e);
    }
    r = pb_dup(&rec->base, &copy);
    if (r < 0)
        return r;
    r = cache_add(&s->cache, rec->job_id, CACHE_JOB, s->base + (int64_t)rec->db_id, copy, &e);
    if (r < 0) {
        protobuf_c_message_free_unpacked(copy, NULL);
        return r;
    }
    tidy((Pst__JobRecord *)copy, time_us);
    cache_mark(&s->cache, e);
    return 0;
}

/* Was it cancelled by somebody, and not only to be queued again? */
static bool stays_cancelled(const Pst__JobRecord *rec)
{
    return rec->has_cancel_uid && !job_has_flag(rec, JOB_FLAG(REQUEUED));
}

/* The run in e is over, its job is queued again: leave the row as it shall be shown. */
static int close_run(struct acct *a, struct entry *e, int64_t time_us)
{
    const Pst__JobRecord *old = (const Pst__JobRecord *)e->rec;
    ProtobufCMessage *copy;
    Pst__JobRecord *rec;
    int r = pb_dup(&old->base, &copy);

    if (r < 0)
        return r;
    rec = (Pst__JobRecord *)copy;
    if (!job_is_ended(rec)) {
        rec->has_end_us = true;
        rec->end_us = time_us; /* what it held was the projected end */
    }
    rec->has_state_flags = true;
    rec->state_flags = 0;
    if (!job_is_ended(rec) || (job_state(rec) == JOB_STATE(CANCELLED) && !stays_cancelled(old))) {
        rec->has_state = true;
        rec->state = JOB_STATE(CANCELLED);
        rec->state_flags = JOB_FLAG(REQUEUED);
    }
    tidy(rec, time_us);
    r = store_save_job(&a->store, e, rec);
    protobuf_c_message_free_unpacked(copy, NULL);
    return r;
}

static int job_patch(struct acct *a, const Pst__JobPatch *p, int64_t time_us)
{
    struct store *s = &a->store;
    struct entry *e = NULL;
    int r = store_job(s, p->job_id, &e);

    if (r < 0 || !e)
        return r;
    if (p->set && p->set->has_db_id && s->base + (int64_t)p->set->db_id != e->run) {
        r = close_run(a, e, time_us);
        if (r < 0)
            return r;
        e->run = s->base + (int64_t)p->set->db_id;
        e->stored = false;
    }
    r = merge_and_clear(e->rec, p->set ? &p->set->base : NULL, p->n_clear, p->clear);
    if (r < 0)
        return r;
    r = p->array_take ? array_take(&((Pst__JobRecord *)e->rec)->array_tasks, p->array_take) : 0;
    if (r < 0)
        return r;
    tidy((Pst__JobRecord *)e->rec, time_us);
    cache_mark(&s->cache, e);
    return 0;
}

/* The controller forgets jobs that are over.  One that is not was thrown away (slurmctld -c), and
 * no end of it will ever come. */
static int job_purge(struct acct *a, uint32_t job_id, int64_t time_us)
{
    struct store *s = &a->store;
    struct entry *e = cache_get(&s->cache, job_id, CACHE_JOB);
    Pst__JobRecord *rec;
    int r = e ? 1 : store_has_open_run(s, job_id);

    if (r > 0)
        r = store_job(s, job_id, &e);
    if (r < 0 || !e || job_is_ended((const Pst__JobRecord *)e->rec))
        return r;
    rec = (Pst__JobRecord *)e->rec;
    rec->has_state = rec->has_state_flags = rec->has_end_us = true;
    rec->state = JOB_STATE(CANCELLED);
    rec->state_flags = 0;
    rec->end_us = time_us;
    cache_mark(&s->cache, e);
    return 0;
}

/* ---- steps --------------------------------------------------------------------------------------
 */

static int step_put(struct acct *a, const Pst__StepRecord *rec)
{
    struct store *s = &a->store;
    struct entry *job = NULL, *e = NULL;
    ProtobufCMessage *copy;
    int64_t run;
    int r = store_job(s, rec->job_id, &job);

    if (r < 0 || !job)
        return r;
    run = rec->has_job_db_id ? s->base + (int64_t)rec->job_db_id : job->run;
    r = pb_dup(&rec->base, &copy);
    if (r < 0)
        return r;
    e = cache_get(&s->cache, (uint64_t)run, acct_step_order(rec->step_id));
    if (e) {
        protobuf_c_message_free_unpacked(e->rec, NULL);
        e->rec = copy;
    } else {
        r = cache_add(&s->cache, (uint64_t)run, acct_step_order(rec->step_id), run, copy, &e);
        if (r < 0) {
            protobuf_c_message_free_unpacked(copy, NULL);
            return r;
        }
    }
    pb_clear_from(e->rec, FIELD_VOLATILE);
    cache_mark(&s->cache, e);
    return 0;
}

static int step_patch(struct acct *a, const Pst__StepPatch *p)
{
    struct store *s = &a->store;
    struct entry *job = NULL, *e = NULL;
    int r = store_job(s, p->job_id, &job);
    int64_t run;

    if (r < 0 || !job)
        return r;
    run = p->set && p->set->has_job_db_id ? s->base + (int64_t)p->set->job_db_id : job->run;
    r = store_step(s, run, p->step_id, &e);
    if (r == 0 && !e)
        r = store_step_any_run(s, p->job_id, p->step_id, &e); /* job may be gone from the cache */
    if (r < 0 || !e)
        return r;
    r = merge_and_clear(e->rec, p->set ? &p->set->base : NULL, p->n_clear, p->clear);
    if (r < 0)
        return r;
    pb_clear_from(e->rec, FIELD_VOLATILE);
    cache_mark(&s->cache, e);
    return 0;
}

/* ---- the cluster --------------------------------------------------------------------------------
 */

/* The journal turns out to be that of another cluster: its numbers of runs begin anew, so they are
 * stored behind those we have. */
static int new_epoch(struct acct *a)
{
    struct store *s = &a->store;
    sqlite3_stmt *stmt;
    int r = store_flush(s);

    if (r == 0)
        r = acct_db_prepare(s->db, "SELECT ifnull(max(run), 0) FROM jobs", &stmt);
    if (r < 0)
        return r;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        a->meta.base = sqlite3_column_int64(stmt, 0);
    else
        r = acct_db_errno(s->db);
    (void)sqlite3_finalize(stmt); /* repeats the error just taken */
    if (r < 0)
        return r;
    cache_clear(&s->cache);
    s->base = a->meta.base;
    return meta_put(s->db, "base", NULL, s->base);
}

static int cluster_set(struct acct *a, const Pst__ClusterRecord *rec)
{
    char id[NAME_MAX_BYTES];
    int r = 0;

    copy_name(id, rec->cluster_id);
    if (id[0] && strcmp(id, a->meta.cluster_id) != 0) {
        if (a->meta.cluster_id[0])
            r = new_epoch(a);
        copy_name(a->meta.cluster_id, id);
        if (r == 0)
            r = meta_put(a->store.db, "cluster_id", id, 0);
    }
    copy_name(id, rec->name);
    if (r == 0 && id[0] && strcmp(id, a->meta.cluster) != 0) {
        copy_name(a->meta.cluster, id);
        r = meta_put(a->store.db, "cluster", id, 0);
    }
    return r;
}

/* ---- transactions -------------------------------------------------------------------------------
 */

static int apply_event(struct acct *a, const Pst__Event *ev, int64_t time_us)
{
    switch (ev->body_case) {
    case PST__EVENT__BODY_JOB_PUT:
        return job_put(a, ev->job_put, time_us);
    case PST__EVENT__BODY_JOB_PATCH:
        return job_patch(a, ev->job_patch, time_us);
    case PST__EVENT__BODY_JOB_PURGE:
        return job_purge(a, ev->job_purge, time_us);
    case PST__EVENT__BODY_STEP_PUT:
        return step_put(a, ev->step_put);
    case PST__EVENT__BODY_STEP_PATCH:
        return step_patch(a, ev->step_patch);
    case PST__EVENT__BODY_CLUSTER_SET:
        return cluster_set(a, ev->cluster_set);
    default:
        return 0; /* nodes, partitions, blobs: no accounting matter */
    }
}

int acct_apply(struct acct *a, uint64_t lsn, const Pst__Transaction *tx, struct err *err)
{
    int r = 0;

    if (!a->in_batch)
        return err_set(err, -EINVAL, "accounting: no batch is open");
    if (lsn <= a->meta.cursor)
        return 0;
    if (a->store.cache.n > CACHE_BATCH_MAX) {
        r = store_flush(&a->store);
        if (r == 0)
            cache_evict(&a->store.cache, CACHE_MAX);
    }
    for (size_t i = 0; r == 0 && i < tx->n_events; i++)
        r = apply_event(a, tx->events[i], tx->time_us);
    if (r < 0) {
        r = fail(a, r);
        return err_set(err, r, "accounting: record %llu of the journal cannot be stored: %s",
                       (unsigned long long)lsn, a->error);
    }
    a->meta.cursor = lsn;
    return 0;
}
