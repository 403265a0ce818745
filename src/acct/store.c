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
    "array_task_id=?, state=?, begun_us=?, eligible_us=?, start_us=?, `partition`=?,"              \
    " name=?, account=?, qos=?, nodes=?, record=?"

#define JOB_HEAD                                                                                   \
    "REPLACE INTO jobs(run, job_id, array_job_id, uid, end_us, array_task_id, state, begun_us,"    \
    " eligible_us, start_us, `partition`, name, account, qos, nodes, record) VALUES"
#define JOB_ROW "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define JOB_COLUMNS 16u
#define STEP_HEAD "REPLACE INTO steps VALUES"
#define STEP_ROW "(?,?,?)"
#define STEP_COLUMNS 3u
#define FOUR(row) row "," row "," row "," row
#define MANY(row) FOUR(FOUR(row))
_Static_assert(STORE_MANY == 16, "as MANY says");

static const char *const sql[STORE_STMTS_] = {
    [STORE_INSERT_JOB] = JOB_HEAD JOB_ROW,
    [STORE_INSERT_JOBS] = JOB_HEAD MANY(JOB_ROW),
    [STORE_UPDATE_JOB] =
        "UPDATE jobs SET array_job_id=?, uid=?, end_us=?, " PLAIN_COLUMNS " WHERE run=?",
    [STORE_REFRESH_JOB] = "UPDATE jobs SET " PLAIN_COLUMNS " WHERE run=?",
    [STORE_LOAD_JOB] = "SELECT run, record FROM jobs WHERE job_id=? AND run>? AND run<?"
                       " ORDER BY run DESC LIMIT 1",
    [STORE_OPEN_RUN] = "SELECT 1 FROM jobs WHERE job_id=? AND run>? AND run<?"
                       " AND end_us=9223372036854775807",
    [STORE_SAVE_STEP] = STEP_HEAD STEP_ROW,
    [STORE_SAVE_STEPS] = STEP_HEAD MANY(STEP_ROW),
    [STORE_LOAD_STEP] = "SELECT run, record FROM steps WHERE run=? AND step=?",
    [STORE_MOVE_STEPS] = "UPDATE steps SET run=? WHERE run=?",
    [STORE_FIND_STEP] =
        "SELECT s.run, s.record FROM jobs j JOIN steps s ON s.run=j.run AND s.step=?"
        " WHERE j.job_id=? AND j.run>? AND j.run<? ORDER BY j.run DESC LIMIT 1",
};

int store_init(struct store *s, struct sql *db)
{
    int r;

    *s = (struct store){ .db = db, .earliest_us = INT64_MAX };
    r = cache_init(&s->cache, BUCKETS);
    for (size_t i = 0; r == 0 && i < STORE_STMTS_; i++)
        r = sql_prepare(db, sql[i], &s->stmts[i]);
    return r;
}

void store_done(struct store *s)
{
    cache_done(&s->cache);
    for (size_t i = 0; i < STORE_MANY; i++)
        free(s->slots[i].data);
    s->db = sql_close(s->db);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What the indexed columns hold for this record. */
static void index_columns(const Pst__JobRecord *rec, struct entry *e)
{
    e->end_us = job_is_ended(rec) ? rec->end_us : ACCT_OPEN_END;
    e->uid = rec->uid;
    /* Components are found by their leader's id as tasks are by their array's. */
    e->array_job_id = rec->has_array_job_id ? rec->array_job_id
                      : rec->has_het_job_id ? rec->het_job_id
                                            : 0;
}

/* Make an entry of the row (run, record) a bound statement finds. */
static int load_record(struct store *s, struct sql_stmt *stmt, uint64_t id, int64_t step,
                       const ProtobufCMessageDescriptor *desc, struct entry **ret_entry)
{
    struct entry *e = NULL;
    int r = sql_step(stmt);

    if (r == 1) {
        int64_t run = sql_int(stmt, 0);
        size_t len;
        const void *data = sql_blob(stmt, 1, &len);
        ProtobufCMessage *rec = protobuf_c_message_unpack(desc, NULL, len, data);

        if (step != CACHE_JOB)
            id = (uint64_t)run;
        r = rec ? cache_add(&s->cache, id, step, run, rec, &e) : -EUCLEAN;
        if (r < 0 && rec)
            protobuf_c_message_free_unpacked(rec, NULL);
        sql_reset(stmt);
    }
    if (r == 0)
        *ret_entry = e;
    return r;
}

static void bind_key(const struct store *s, struct sql_stmt *stmt, unsigned at, uint32_t job_id)
{
    sql_bind(stmt, at, job_id);
    sql_bind(stmt, at + 1, s->base);
    sql_bind(stmt, at + 2, s->end);
}

int store_job(struct store *s, uint32_t job_id, struct entry **ret_entry)
{
    struct sql_stmt *stmt = s->stmts[STORE_LOAD_JOB];
    struct entry *e = cache_get(&s->cache, job_id, CACHE_JOB);
    int r = 0;

    if (!e) {
        bind_key(s, stmt, 0, job_id);
        r = load_record(s, stmt, job_id, CACHE_JOB, &pst__job_record__descriptor, &e);
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
    struct sql_stmt *stmt = s->stmts[STORE_OPEN_RUN];
    int r;

    bind_key(s, stmt, 0, job_id);
    r = sql_step(stmt);
    sql_reset(stmt);
    return r;
}

int store_step(struct store *s, int64_t run, uint32_t step_id, struct entry **ret_entry)
{
    struct sql_stmt *stmt = s->stmts[STORE_LOAD_STEP];
    int64_t step = acct_step_order(step_id);
    struct entry *e = cache_get(&s->cache, (uint64_t)run, step);

    if (e) {
        *ret_entry = e;
        return 0;
    }
    sql_bind(stmt, 0, run);
    sql_bind(stmt, 1, step);
    return load_record(s, stmt, (uint64_t)run, step, &pst__step_record__descriptor, ret_entry);
}

int store_step_any_run(struct store *s, uint32_t job_id, uint32_t step_id, struct entry **ret_entry)
{
    struct sql_stmt *stmt = s->stmts[STORE_FIND_STEP];
    int64_t step = acct_step_order(step_id);
    int r = store_flush(s); /* the step may not have a row yet */
    struct entry *loaded = NULL;

    if (r < 0)
        return r;
    sql_bind(stmt, 0, step);
    bind_key(s, stmt, 1, job_id);
    r = load_record(s, stmt, 0, step, &pst__step_record__descriptor, &loaded);
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

/* ---- saving ---------------------------------------------------------------------------------- */

static int encode_record(struct encoded *slot, const ProtobufCMessage *rec)
{
    size_t len = protobuf_c_message_get_packed_size(rec);

    if (len >= slot->cap) {
        uint8_t *bigger = realloc(slot->data, len * 2 + 1024);

        if (!bigger)
            return -ENOMEM;
        slot->data = bigger;
        slot->cap = len * 2 + 1024;
    }
    slot->len = protobuf_c_message_pack(rec, slot->data);
    return 0;
}

static void bind_optional(struct sql_stmt *stmt, unsigned at, bool present, int64_t value)
{
    if (present)
        sql_bind(stmt, at, value);
    else
        sql_bind_null(stmt, at);
}

/* A run that is only over because it went back to the queue, a part that is over because the job
 * went on with another size. */
static uint32_t shown_state(const Pst__JobRecord *rec)
{
    if (job_state(rec) == JOB_STATE(CANCELLED) && job_has_flag(rec, JOB_FLAG(REQUEUED)))
        return ACCT_STATE_REQUEUED;
    if (job_has_flag(rec, JOB_FLAG(RESIZING)))
        return ACCT_STATE_RESIZING;
    return job_state(rec);
}

/* The columns that are in indexes, from at on. */
static unsigned bind_indexed(struct sql_stmt *stmt, unsigned at, const struct entry *e)
{
    bind_optional(stmt, at++, e->array_job_id != 0, e->array_job_id);
    sql_bind(stmt, at++, e->uid);
    sql_bind(stmt, at++, e->end_us);
    return at;
}

static unsigned bind_plain(struct sql_stmt *stmt, unsigned at, const Pst__JobRecord *rec,
                           const struct encoded *slot)
{
    int64_t begun = rec->has_submit_us ? rec->submit_us : 0;

    if (rec->has_requeue_us)
        begun = MAX(begun, rec->requeue_us);
    bind_optional(stmt, at++, rec->has_array_task_id, rec->array_task_id);
    sql_bind(stmt, at++, shown_state(rec));
    sql_bind(stmt, at++, begun);
    bind_optional(stmt, at++, rec->has_eligible_us, MAX(begun, rec->eligible_us));
    bind_optional(stmt, at++, rec->has_start_us, rec->start_us);
    sql_bind_text(stmt, at++, rec->partition);
    sql_bind_text(stmt, at++, rec->name);
    sql_bind_text(stmt, at++, rec->account);
    sql_bind_text(stmt, at++, rec->qos);
    sql_bind_text(stmt, at++, rec->alloc ? rec->alloc->nodes : NULL);
    sql_bind_blob(stmt, at++, slot->data, slot->len);
    return at;
}

/* What was summed up of the time from here on no longer holds. */
static void note_change(struct store *s, const struct entry *before, const Pst__JobRecord *rec)
{
    if (before->end_us == ACCT_OPEN_END && job_is_ended(rec))
        s->earliest_us = MIN(s->earliest_us, rec->end_us);
    if (!before->stored && rec->has_start_us)
        s->earliest_us = MIN(s->earliest_us, rec->start_us);
}

/* A whole row, from at on. */
static void bind_row(struct sql_stmt *stmt, unsigned at, const struct entry *e,
                     const Pst__JobRecord *rec, const struct encoded *slot)
{
    sql_bind(stmt, at, e->run);
    sql_bind(stmt, at + 1, rec->job_id);
    at = bind_indexed(stmt, at + 2, e);
    (void)bind_plain(stmt, at, rec, slot); /* the last ones */
}

int store_save_job(struct store *s, struct entry *e, const Pst__JobRecord *rec)
{
    struct entry before = *e;
    struct sql_stmt *stmt;
    unsigned at = 0;
    int r = encode_record(&s->slots[0], &rec->base);

    if (r < 0)
        return r;
    index_columns(rec, e);
    note_change(s, &before, rec);
    if (!e->stored) {
        stmt = s->stmts[STORE_INSERT_JOB];
        bind_row(stmt, 0, e, rec, &s->slots[0]);
    } else {
        bool indexed = before.end_us != e->end_us || before.uid != e->uid ||
                       before.array_job_id != e->array_job_id;

        stmt = s->stmts[indexed ? STORE_UPDATE_JOB : STORE_REFRESH_JOB];
        if (indexed)
            at = bind_indexed(stmt, at, e);
        at = bind_plain(stmt, at, rec, &s->slots[0]);
        sql_bind(stmt, at, e->run);
    }
    e->stored = true;
    return sql_run(stmt);
}

/* STORE_MANY new runs. */
static int insert_jobs(struct store *s, struct entry *const *jobs)
{
    struct sql_stmt *stmt = s->stmts[STORE_INSERT_JOBS];

    for (unsigned i = 0; i < STORE_MANY; i++) {
        const Pst__JobRecord *rec = (const Pst__JobRecord *)jobs[i]->rec;
        struct entry before = *jobs[i];
        int r = encode_record(&s->slots[i], &rec->base);

        if (r < 0)
            return r;
        index_columns(rec, jobs[i]);
        note_change(s, &before, rec);
        bind_row(stmt, i * JOB_COLUMNS, jobs[i], rec, &s->slots[i]);
        jobs[i]->stored = true;
    }
    return sql_run(stmt);
}

static int save_steps(struct store *s, struct entry *const *steps, unsigned n,
                      struct sql_stmt *stmt)
{
    for (unsigned i = 0; i < n; i++) {
        int r = encode_record(&s->slots[i], steps[i]->rec);

        if (r < 0)
            return r;
        sql_bind(stmt, i * STEP_COLUMNS, steps[i]->run);
        sql_bind(stmt, i * STEP_COLUMNS + 1, steps[i]->step);
        sql_bind_blob(stmt, i * STEP_COLUMNS + 2, s->slots[i].data, s->slots[i].len);
    }
    return sql_run(stmt);
}

/* The run is over: its cached record gives way to those of running jobs. */
static bool is_finished(const struct entry *e)
{
    if (e->step == CACHE_JOB) {
        const Pst__JobRecord *rec = (const Pst__JobRecord *)e->rec;

        return job_is_ended(rec) && !job_has_flag(rec, JOB_FLAG(COMPLETING) | JOB_FLAG(REQUEUED));
    }
    return ((const Pst__StepRecord *)e->rec)->state > PST__STEP_STATE__STEP_RUNNING;
}

/* Those that wait to be saved together. */
struct waiting {
    struct entry *jobs[STORE_MANY], *steps[STORE_MANY];
    unsigned njobs, nsteps;
};

static void finish_entries(struct store *s, struct entry *const *entries, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (is_finished(entries[i]))
            cache_drop(&s->cache, entries[i]);
}

static int save_or_wait(struct store *s, struct waiting *w, struct entry *e)
{
    int r = 0;

    if (e->step != CACHE_JOB) {
        w->steps[w->nsteps++] = e;
        if (w->nsteps == STORE_MANY) {
            r = save_steps(s, w->steps, STORE_MANY, s->stmts[STORE_SAVE_STEPS]);
            finish_entries(s, w->steps, STORE_MANY);
            w->nsteps = 0;
        }
    } else if (!e->stored) {
        w->jobs[w->njobs++] = e;
        if (w->njobs == STORE_MANY) {
            r = insert_jobs(s, w->jobs);
            finish_entries(s, w->jobs, STORE_MANY);
            w->njobs = 0;
        }
    } else {
        r = store_save_job(s, e, (const Pst__JobRecord *)e->rec);
        finish_entries(s, &e, 1);
    }
    return r;
}

int store_flush(struct store *s)
{
    struct waiting w = { .njobs = 0 };
    struct entry *e;
    int r = 0;

    while (r == 0 && (e = cache_next_dirty(&s->cache)))
        r = save_or_wait(s, &w, e);
    for (unsigned i = 0; r == 0 && i < w.njobs; i++)
        r = store_save_job(s, w.jobs[i], (const Pst__JobRecord *)w.jobs[i]->rec);
    for (unsigned i = 0; r == 0 && i < w.nsteps; i++)
        r = save_steps(s, &w.steps[i], 1, s->stmts[STORE_SAVE_STEP]);
    finish_entries(s, w.jobs, w.njobs);
    finish_entries(s, w.steps, w.nsteps);
    return r;
}

int store_move_steps(struct store *s, int64_t from, int64_t to)
{
    struct sql_stmt *stmt = s->stmts[STORE_MOVE_STEPS];
    int r = store_flush(s);

    if (r < 0)
        return r;
    cache_drop_steps(&s->cache, from);
    sql_bind(stmt, 0, to);
    sql_bind(stmt, 1, from);
    return sql_run(stmt);
}
