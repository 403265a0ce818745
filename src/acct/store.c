/* store.c - job and step rows: loading and saving; see store.h.
 *
 * The record is the truth; the columns beside it are what the filters of a query need, derived from
 * the record alone each time it is written. */
#include "acct/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/job.h"

#define BUCKETS 16384u

#define PLAIN_COLUMNS                                                                              \
    "array_task_id=?4, state=?6, begun_us=?7, eligible_us=?8, start_us=?9, partition=?11,"         \
    " name=?12, account=?13, qos=?14, nodes=?15, record=?16"

static const char *const sql[STORE_STMTS_] = {
    [STORE_INSERT_JOB] =
        "INSERT OR REPLACE INTO jobs VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,"
        "?13,?14,?15,?16)",
    [STORE_UPDATE_JOB] =
        "UPDATE jobs SET array_job_id=?3, uid=?5, end_us=?10, " PLAIN_COLUMNS " WHERE run=?1",
    [STORE_REFRESH_JOB] = "UPDATE jobs SET " PLAIN_COLUMNS " WHERE run=?1",
    [STORE_LOAD_JOB] = "SELECT run, record FROM jobs WHERE job_id=?1 AND run>?2"
                       " ORDER BY run DESC LIMIT 1",
    [STORE_OPEN_RUN] = "SELECT 1 FROM jobs WHERE job_id=?1 AND run>?2"
                       " AND end_us=9223372036854775807",
    [STORE_SAVE_STEP] = "INSERT OR REPLACE INTO steps VALUES(?1,?2,?3)",
    [STORE_LOAD_STEP] = "SELECT run, record FROM steps WHERE run=?1 AND step=?2",
    [STORE_FIND_STEP] =
        "SELECT s.run, s.record FROM jobs j JOIN steps s ON s.run=j.run AND s.step=?2"
        " WHERE j.job_id=?1 AND j.run>?3 ORDER BY j.run DESC LIMIT 1",
    [STORE_CURSOR] = "UPDATE meta SET value=?1 WHERE name='cursor'",
};

int store_init(struct store *s, sqlite3 *db)
{
    int r;

    *s = (struct store){ .db = db };
    r = cache_init(&s->cache, BUCKETS);
    for (size_t i = 0; r == 0 && i < STORE_STMTS_; i++)
        r = acct_db_prepare(db, sql[i], &s->stmts[i]);
    return r;
}

void store_done(struct store *s)
{
    for (size_t i = 0; i < STORE_STMTS_; i++)
        (void)sqlite3_finalize(s->stmts[i]); /* repeats an error already reported */
    cache_done(&s->cache);
    free(s->buf);
    (void)sqlite3_close(s->db); /* nothing is prepared any more */
}

/* ---- loading ------------------------------------------------------------------------------------
 */

/* What the indexed columns hold for this record. */
static void index_columns(const Pst__JobRecord *rec, struct entry *e)
{
    e->end_us = job_is_ended(rec) ? rec->end_us : ACCT_OPEN_END;
    e->uid = rec->uid;
    /* Components are found by their leader's id as tasks are by their array's. */
    e->array_job_id = rec->has_array_job_id ? rec->array_job_id : rec->has_het_job_id ? rec->het_job_id : 0;
}

/* Make an entry of the row (run, record) a bound statement finds. */
static int load(struct store *s, sqlite3_stmt *stmt, uint64_t id, int64_t step,
                const ProtobufCMessageDescriptor *desc, struct entry **ret_entry)
{
    int rc = sqlite3_step(stmt), r = 0;
    struct entry *e = NULL;

    if (rc == SQLITE_ROW) {
        int64_t run = sqlite3_column_int64(stmt, 0);
        const void *data = sqlite3_column_blob(stmt, 1);
        size_t len = (size_t)sqlite3_column_bytes(stmt, 1);
        ProtobufCMessage *rec = protobuf_c_message_unpack(desc, NULL, len, data);

        if (step != CACHE_JOB)
            id = (uint64_t)run;
        r = rec ? cache_add(&s->cache, id, step, run, rec, &e) : -EUCLEAN;
        if (r < 0 && rec)
            protobuf_c_message_free_unpacked(rec, NULL);
    } else if (rc != SQLITE_DONE) {
        r = acct_db_errno(s->db);
    }
    (void)sqlite3_reset(stmt); /* repeats the error just taken */
    if (r == 0)
        *ret_entry = e;
    return r;
}

int store_job(struct store *s, uint32_t job_id, struct entry **ret_entry)
{
    sqlite3_stmt *stmt = s->stmts[STORE_LOAD_JOB];
    struct entry *e = cache_get(&s->cache, job_id, CACHE_JOB);
    int r = 0;

    if (!e) {
        (void)sqlite3_bind_int64(stmt, 1, job_id); /* fails on no valid statement */
        (void)sqlite3_bind_int64(stmt, 2, s->base);
        r = load(s, stmt, job_id, CACHE_JOB, &pst__job_record__descriptor, &e);
        if (r == 0 && e) {
            e->stored = true;
            index_columns((const Pst__JobRecord *)e->rec, e);
        }
    }
    if (r == 0)
        *ret_entry = e;
    return r;
}

int store_has_open_run(struct store *s, uint32_t job_id)
{
    sqlite3_stmt *stmt = s->stmts[STORE_OPEN_RUN];
    int rc;

    (void)sqlite3_bind_int64(stmt, 1, job_id); /* fails on no valid statement */
    (void)sqlite3_bind_int64(stmt, 2, s->base);
    rc = sqlite3_step(stmt);
    (void)sqlite3_reset(stmt); /* repeats the error just taken */
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return acct_db_errno(s->db);
    return rc == SQLITE_ROW;
}

int store_step(struct store *s, int64_t run, uint32_t step_id, struct entry **ret_entry)
{
    sqlite3_stmt *stmt = s->stmts[STORE_LOAD_STEP];
    int64_t step = acct_step_order(step_id);
    struct entry *e = cache_get(&s->cache, (uint64_t)run, step);

    if (e) {
        *ret_entry = e;
        return 0;
    }
    (void)sqlite3_bind_int64(stmt, 1, run); /* fails on no valid statement */
    (void)sqlite3_bind_int64(stmt, 2, step);
    return load(s, stmt, (uint64_t)run, step, &pst__step_record__descriptor, ret_entry);
}

int store_step_any_run(struct store *s, uint32_t job_id, uint32_t step_id, struct entry **ret_entry)
{
    sqlite3_stmt *stmt = s->stmts[STORE_FIND_STEP];
    int64_t step = acct_step_order(step_id);
    int r = store_flush(s); /* the step may not have a row yet */
    struct entry *loaded = NULL;

    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(stmt, 1, job_id); /* fails on no valid statement */
    (void)sqlite3_bind_int64(stmt, 2, step);
    (void)sqlite3_bind_int64(stmt, 3, s->base);
    r = load(s, stmt, 0, step, &pst__step_record__descriptor, &loaded);
    if (r < 0 || !loaded) {
        if (r == 0)
            *ret_entry = NULL;
        return r;
    }
    /* It may be in the cache under its run already: that one is the same now, this one goes. */
    for (struct entry *e = loaded->hash_next; e; e = e->hash_next) {
        if (e->id == loaded->id && e->step == step) {
            cache_drop(&s->cache, loaded);
            loaded = e;
            break;
        }
    }
    *ret_entry = loaded;
    return 0;
}

/* ---- saving -------------------------------------------------------------------------------------
 */

static int encode(struct store *s, const ProtobufCMessage *rec, size_t *ret_len)
{
    size_t len = protobuf_c_message_get_packed_size(rec);

    if (len >= s->cap) {
        uint8_t *bigger = realloc(s->buf, len * 2 + 1024);

        if (!bigger)
            return -ENOMEM;
        s->buf = bigger;
        s->cap = len * 2 + 1024;
    }
    *ret_len = protobuf_c_message_pack(rec, s->buf);
    return 0;
}

/* Binding fails on no valid statement and index, and on no memory, which the step then meets. */
static void bind_optional(sqlite3_stmt *stmt, int at, bool present, int64_t value)
{
    if (present)
        (void)sqlite3_bind_int64(stmt, at, value);
    else
        (void)sqlite3_bind_null(stmt, at);
}

static void bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    (void)sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

/* A run that is only over because it went back to the queue. */
static uint32_t shown_state(const Pst__JobRecord *rec)
{
    if (job_state(rec) == JOB_STATE(CANCELLED) && job_has_flag(rec, JOB_FLAG(REQUEUED)))
        return ACCT_STATE_REQUEUED;
    return job_state(rec);
}

static void bind_job(sqlite3_stmt *stmt, const struct entry *e, const Pst__JobRecord *rec)
{
    int64_t begun = rec->has_submit_us ? rec->submit_us : 0;

    if (rec->has_requeue_us)
        begun = MAX(begun, rec->requeue_us);
    (void)sqlite3_bind_int64(stmt, 1, e->run);
    (void)sqlite3_bind_int64(stmt, 2, rec->job_id);
    bind_optional(stmt, 3, e->array_job_id != 0, e->array_job_id);
    bind_optional(stmt, 4, rec->has_array_task_id, rec->array_task_id);
    (void)sqlite3_bind_int64(stmt, 5, e->uid);
    (void)sqlite3_bind_int64(stmt, 6, shown_state(rec));
    (void)sqlite3_bind_int64(stmt, 7, begun);
    bind_optional(stmt, 8, rec->has_eligible_us, MAX(begun, rec->eligible_us));
    bind_optional(stmt, 9, rec->has_start_us, rec->start_us);
    (void)sqlite3_bind_int64(stmt, 10, e->end_us);
    bind_text(stmt, 11, rec->partition);
    bind_text(stmt, 12, rec->name);
    bind_text(stmt, 13, rec->account);
    bind_text(stmt, 14, rec->qos);
    bind_text(stmt, 15, rec->alloc ? rec->alloc->nodes : NULL);
}

int store_save_job(struct store *s, struct entry *e, const Pst__JobRecord *rec)
{
    struct entry before = *e;
    sqlite3_stmt *stmt;
    size_t len;
    int r = encode(s, &rec->base, &len);

    if (r < 0)
        return r;
    index_columns(rec, e);
    if (!e->stored)
        stmt = s->stmts[STORE_INSERT_JOB];
    else if (before.end_us != e->end_us || before.uid != e->uid ||
             before.array_job_id != e->array_job_id)
        stmt = s->stmts[STORE_UPDATE_JOB];
    else
        stmt = s->stmts[STORE_REFRESH_JOB];
    bind_job(stmt, e, rec);
    (void)sqlite3_bind_blob64(stmt, 16, s->buf, len, SQLITE_STATIC); /* as above */
    e->stored = true;
    return acct_db_run(stmt);
}

static int save_step(struct store *s, const struct entry *e)
{
    sqlite3_stmt *stmt = s->stmts[STORE_SAVE_STEP];
    size_t len;
    int r = encode(s, e->rec, &len);

    if (r < 0)
        return r;
    (void)sqlite3_bind_int64(stmt, 1, e->run); /* fails on no valid statement */
    (void)sqlite3_bind_int64(stmt, 2, e->step);
    (void)sqlite3_bind_blob64(stmt, 3, s->buf, len, SQLITE_STATIC);
    return acct_db_run(stmt);
}

/* Nothing more is expected of it: memory is for those who live. */
static bool is_finished(const struct entry *e)
{
    if (e->step == CACHE_JOB) {
        const Pst__JobRecord *rec = (const Pst__JobRecord *)e->rec;

        return job_is_ended(rec) && !job_has_flag(rec, JOB_FLAG(COMPLETING) | JOB_FLAG(REQUEUED));
    }
    return ((const Pst__StepRecord *)e->rec)->state > PST__STEP_STATE__STEP_RUNNING;
}

int store_flush(struct store *s)
{
    struct entry *e;

    while ((e = cache_next_dirty(&s->cache))) {
        int r = e->step == CACHE_JOB ? store_save_job(s, e, (const Pst__JobRecord *)e->rec)
                                     : save_step(s, e);

        if (r < 0)
            return r;
        if (is_finished(e))
            cache_drop(&s->cache, e);
    }
    return 0;
}

int store_save_cursor(struct store *s, uint64_t lsn)
{
    (void)sqlite3_bind_int64(s->stmts[STORE_CURSOR], 1, (int64_t)lsn); /* fails on no statement */
    return acct_db_run(s->stmts[STORE_CURSOR]);
}
